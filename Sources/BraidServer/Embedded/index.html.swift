// Made by Scripts/embed from Sources/BraidServer/Inspector/index.html.

extension Embedded {
    static let indexHTML = ##"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Braid Server</title>
        <link rel="stylesheet" href="/inspector.css">
        <script type="module" src="/inspector.js"></script>
        </head>
        <body>
        <h1>Braid Server</h1>
        <ul id="sessions"></ul>
        </body>
        </html>

        """##
}
