// Made by Scripts/embed from Sources/BraidServer/Inspector/index.html.

extension Embedded {
    static let indexHTML = ##"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
        <meta name="color-scheme" content="light dark">
        <meta name="theme-color" content="#f2f2f7" media="(prefers-color-scheme: light)">
        <meta name="theme-color" content="#000000" media="(prefers-color-scheme: dark)">
        <title>Braid Server</title>
        <link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%234f46e5'/%3E%3Cg fill='none' stroke='%23fff' stroke-width='3' stroke-linecap='round'%3E%3Cpath d='M10 6c0 7 12 6 12 13s-5 4-6 7M22 6c0 3-2 5-4.5 6.5M10 26c0-4 1-6 4-8'/%3E%3C/g%3E%3C/svg%3E">
        <link rel="stylesheet" href="/inspector.css">
        <script type="module" src="/inspector.js"></script>
        <link rel="modulepreload" href="/braid.js">
        <link rel="modulepreload" href="/inspector/cells.js">
        <link rel="modulepreload" href="/inspector/console.js">
        <link rel="modulepreload" href="/inspector/dom.js">
        <link rel="modulepreload" href="/inspector/dragging.js">
        <link rel="modulepreload" href="/inspector/editor.js">
        <link rel="modulepreload" href="/inspector/frames.js">
        <link rel="modulepreload" href="/inspector/items.js">
        <link rel="modulepreload" href="/inspector/layout.js">
        <link rel="modulepreload" href="/inspector/list.js">
        <link rel="modulepreload" href="/inspector/pointers.js">
        <link rel="modulepreload" href="/inspector/row.js">
        <link rel="modulepreload" href="/inspector/screen.js">
        <link rel="modulepreload" href="/inspector/server.js">
        <link rel="modulepreload" href="/inspector/session.js">
        <link rel="modulepreload" href="/inspector/sidebar.js">
        <link rel="modulepreload" href="/inspector/stages.js">
        <link rel="modulepreload" href="/inspector/table.js">
        <link rel="modulepreload" href="/inspector/timeline.js">
        <link rel="modulepreload" href="/inspector/toasts.js">
        <link rel="modulepreload" href="/inspector/updates.js">
        </head>
        <body data-pane="list" data-view="welcome">
        <nav id="sidebar" aria-label="Sessions and tables">
          <div class="brand">
            <svg class="logo" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M10 6c0 7 12 6 12 13s-5 4-6 7M22 6c0 3-2 5-4.5 6.5M10 26c0-4 1-6 4-8"/></svg>
            <a href="#/">Braid Server</a>
            <button type="button" id="token-button" class="button plain icon" aria-label="Token" title="Token"><svg class="symbol" aria-hidden="true"><use href="#icon-key"/></svg></button>
          </div>
        </nav>
        <main id="main"></main>
        <aside id="panel" aria-label="Details"></aside>
        <div id="panes" role="group" aria-label="Panes">
          <button type="button" data-pane="list"><svg class="symbol" aria-hidden="true"><use href="#icon-session"/></svg><span>Sessions</span></button>
          <button type="button" data-pane="main"><svg class="symbol" aria-hidden="true"><use href="#icon-table"/></svg><span>Table</span></button>
          <button type="button" data-pane="panel"><svg class="symbol" aria-hidden="true"><use href="#icon-history"/></svg><span>Details</span></button>
        </div>
        <div id="toasts"></div>
        <div id="announcer" class="visually-hidden" aria-live="polite"></div>
        <noscript>The inspector needs JavaScript. The API does not: see /openapi.json.</noscript>
        <svg class="visually-hidden" aria-hidden="true">
          <symbol id="icon-plus" viewBox="0 0 20 20"><path d="M10 4v12M4 10h12"/></symbol>
          <symbol id="icon-minus" viewBox="0 0 20 20"><path d="M4.5 10h11"/></symbol>
          <symbol id="icon-handle" viewBox="0 0 20 20"><path d="M3 6h14M3 10h14M3 14h14"/></symbol>
          <symbol id="icon-close" viewBox="0 0 20 20"><path d="M5 5l10 10M15 5L5 15"/></symbol>
          <symbol id="icon-more" viewBox="0 0 20 20"><circle cx="10" cy="10" r="7.5"/><path d="M6.5 10h.01M10 10h.01M13.5 10h.01"/></symbol>
          <symbol id="icon-key" viewBox="0 0 20 20"><circle cx="7" cy="13" r="3.5"/><path d="M9.5 10.5L16 4M13.5 6.5l2 2"/></symbol>
          <symbol id="icon-terminal" viewBox="0 0 20 20"><rect x="2.5" y="4" width="15" height="12" rx="2.5"/><path d="M6 8l2.5 2L6 12M10.5 12.5H14"/></symbol>
          <symbol id="icon-copy" viewBox="0 0 20 20"><rect x="7" y="7" width="9.5" height="9.5" rx="2"/><path d="M13 4.5A1.5 1.5 0 0 0 11.5 3h-6A2.5 2.5 0 0 0 3 5.5v6A1.5 1.5 0 0 0 4.5 13"/></symbol>
          <symbol id="icon-history" viewBox="0 0 20 20"><path d="M3.5 10a6.5 6.5 0 1 0 2-4.700M3.5 3v3.5H7M10 6.5V10l2.5 1.800"/></symbol>
          <symbol id="icon-session" viewBox="0 0 20 20"><rect x="3" y="3.5" width="14" height="5" rx="1.800"/><rect x="3" y="11.5" width="14" height="5" rx="1.800"/></symbol>
          <symbol id="icon-table" viewBox="0 0 20 20"><path d="M7 4C4.5 4 6.5 10 3.5 10 6.5 10 4.5 16 7 16M13 4c2.5 0 .5 6 3.5 6-3 0-1 6-3.5 6"/></symbol>
          <symbol id="icon-hidden" viewBox="0 0 20 20"><path d="M3 10s2.5-5 7-5 7 5 7 5-2.5 5-7 5-7-5-7-5zM4 16L16 4"/></symbol>
          <symbol id="icon-image" viewBox="0 0 20 20"><rect x="3" y="4" width="14" height="12" rx="2.5"/><circle cx="7.5" cy="8.5" r="1.300"/><path d="M4 14.5l4-3.5 2.5 2L13 10.5l3.5 3.5"/></symbol>
        </svg>
        </body>
        </html>

        """##
}
