// Made by Scripts/embed from Sources/BraidServer/Inspector/inspector.css.

extension Embedded {
    static let inspectorCSS = ##"""
        :root { color-scheme: light dark; font-family: system-ui, sans-serif; }

        """##
}
