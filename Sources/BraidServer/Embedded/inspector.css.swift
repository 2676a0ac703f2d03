// Made by Scripts/embed from Sources/BraidServer/Inspector/inspector.css.

extension Embedded {
    static let inspectorCSS = ##"""
        /* Colours first: iOS' own names for what they are for; the rest of the sheet knows no other. */
        :root {
          color-scheme: light dark;
          --tint: light-dark(#4f46e5, #8b8cf9);
          --on-tint: light-dark(#fff, #0b0b1a);
          --tint-soft: light-dark(#eef0fe, #23244a);
          --red: light-dark(#c8281f, #ff5f57);
          --green: light-dark(#1f9d4c, #32d15d);
          --orange: light-dark(#c2660a, #ff9f2e);
          --blue: light-dark(#0a6ae0, #4ea1ff);
          --purple: light-dark(#8a3fd1, #c07bff);
          --grouped: light-dark(#f2f2f7, #000);
          --card: light-dark(#fff, #1c1c1e);
          --chrome: light-dark(#fbfbfd, #111113);
          --sunk: light-dark(#f4f4f8, #1a1a1d);
          --hover: light-dark(#ececf3, #2a2a2e);
          --flash: light-dark(#e0e3ff, #34366e);
          --line: light-dark(#d9d9e0, #303036);
          --text: light-dark(#111114, #f5f5f7);
          --soft: light-dark(#63636b, #a0a0a8);
          --faint: light-dark(#6e6e77, #8e8e97);
          --shadow: 0 1px 3px light-dark(rgb(20 20 50 / .14), rgb(0 0 0 / .6)), 0 10px 30px light-dark(rgb(20 20 50 / .2), rgb(0 0 0 / .75));
          --mono: ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", "DejaVu Sans Mono", monospace;
          --radius: 11px;
        }
        *, ::before, ::after { box-sizing: border-box; }
        html, body { height: 100%; margin: 0; }
        body {
          display: grid; grid-template: 100dvh / minmax(216px, 264px) minmax(380px, 1fr) minmax(340px, 30vw); overflow: hidden;
          font: 15px/1.4 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
          color: var(--text); background: var(--grouped); -webkit-font-smoothing: antialiased; accent-color: var(--tint);
        }
        h1, h2, h3, h4, p, ul, ol, dl, dd, pre { margin: 0; padding: 0; }
        ul, ol { list-style: none; }
        button, input, select, textarea { font: inherit; color: inherit; }
        button { cursor: pointer; border: 0; background: none; padding: 0; }
        button:disabled { cursor: default; opacity: .45; }
        a { color: inherit; text-decoration: none; }
        :focus-visible { outline: 2px solid var(--tint); outline-offset: 2px; }
        [hidden] { display: none !important; }
        .visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
        .symbol { width: 20px; height: 20px; flex: none; fill: none; stroke: currentColor; stroke-width: 1.7; stroke-linecap: round; stroke-linejoin: round; }
        .subtitle, .note, time { color: var(--soft); font-size: 13px; }
        .fault { color: var(--red); font-size: 13px; }
        .fault:empty { display: none; }

        .button { display: inline-flex; align-items: center; justify-content: center; gap: 6px; min-height: 34px; padding: 0 14px; border-radius: 9px; background: var(--hover); font-weight: 560; white-space: nowrap; }
        .button:hover:not(:disabled) { filter: brightness(.97); }
        .button.small { min-height: 28px; padding: 0 11px; font-size: 13px; border-radius: 8px; }
        .button.plain, .button.copy { background: none; color: var(--tint); }
        .button.primary { background: var(--tint); color: var(--on-tint); }
        .button.destructive { color: var(--red); }
        .button.icon { padding: 0; width: 34px; }
        .button.plain:hover:not(:disabled), .button.copy:hover { background: var(--hover); filter: none; }
        @media (hover: none) { .button.plain:hover:not(:disabled) { background: none; } }
        .button.copy { width: 28px; min-height: 28px; color: var(--faint); }
        .button.copy:hover { color: var(--tint); }
        .button.copy .symbol { width: 18px; height: 18px; }

        input:is([type=text], [type=search], [type=number], [type=password]), select, textarea { min-width: 0; padding: 7px 10px; border: 1px solid var(--line); border-radius: 9px; background: var(--card); }
        textarea.code, .code { font: 12.5px/1.5 var(--mono); width: 100%; resize: vertical; tab-size: 2; }

        /* The columns */
        #sidebar, #panel { background: var(--chrome); overflow: hidden; display: flex; flex-direction: column; min-width: 0; }
        #sidebar { border-right: 1px solid var(--line); }
        #panel { border-left: 1px solid var(--line); }
        #main { min-width: 0; min-height: 0; position: relative; }
        #panes { display: none; }
        .brand { display: flex; align-items: center; gap: 10px; padding: 12px 10px 6px 16px; font-weight: 680; font-size: 16px; letter-spacing: -.01em; }
        .brand a { flex: 1; }
        .sidebar-lists a .symbol, .hidden .symbol, .handle { opacity: .75; }
        .logo { width: 26px; height: 26px; }
        .logo rect { fill: light-dark(#4f46e5, #5b54ea); }
        .logo path { fill: none; stroke: #fff; stroke-width: 3; stroke-linecap: round; }
        #token-button { color: var(--faint); }
        #token-button[data-used=true] { color: var(--green); }
        .search { padding: 6px 12px 4px; }
        .search input { width: 100%; background: var(--sunk); border-color: transparent; }
        .sidebar-lists { flex: 1; overflow: auto; padding: 0 8px 16px; scrollbar-width: thin; }
        .group-head { display: flex; align-items: center; justify-content: space-between; padding: 10px 0 2px 8px; }
        .group-head h2 { font-size: 12px; font-weight: 620; color: var(--soft); }
        .sidebar-lists .note { padding: 2px 8px 8px; }
        .sidebar-lists a { display: flex; align-items: center; gap: 10px; padding: 6px 8px; border-radius: 9px; }
        .sidebar-lists a .symbol { color: var(--faint); }
        .sidebar-lists a:hover { background: var(--hover); }
        .sidebar-lists a[aria-current] { background: var(--tint-soft); }
        .sidebar-lists a[aria-current] :is(.title, .symbol) { color: var(--tint); }
        .names { flex: 1; min-width: 0; }
        .sidebar-lists :is(.title, .subtitle) { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; line-height: 1.25; }
        .sidebar-lists .title { font-weight: 540; }
        .sidebar-lists .subtitle { font-size: 12px; }
        .sidebar-lists .detail { color: var(--faint); font-size: 12px; font-variant-numeric: tabular-nums; }
        .welcome { height: 100%; display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 14px; padding: 32px; text-align: center; color: var(--soft); }
        .welcome h1 { color: var(--text); font-size: 30px; letter-spacing: -.02em; }
        .welcome p { max-width: 40ch; }

        /* A session's screen */
        .screen { height: 100%; display: grid; grid-template: auto 1fr auto / minmax(0, 1fr); min-height: 0; }
        .bar { display: flex; align-items: center; justify-content: space-between; gap: 8px; min-height: 50px; padding: 6px 12px 6px 20px; z-index: 3; }
        .bar-buttons { display: flex; align-items: center; gap: 4px; }
        .status { display: inline-flex; align-items: center; gap: 7px; font-size: 13px; color: var(--soft); }
        .status::before { content: ""; width: 8px; height: 8px; border-radius: 50%; background: var(--orange); }
        .status[data-status=live]::before { background: var(--green); }
        .status:is([data-status=ended], [data-status=paused])::before { background: var(--faint); }
        .status[data-status=faulty]::before { background: var(--red); }
        .scroller { overflow: auto; overflow-anchor: none; min-height: 0; scrollbar-width: thin; padding: 0 max(16px, calc(50% - 300px)); position: relative; }
        .bar-title { font-weight: 640; opacity: 0; translate: 0 6px; transition: opacity .18s, translate .18s; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; }
        .scrolled .bar-title { opacity: 1; translate: 0; }
        .scrolled .bar { background: var(--chrome); box-shadow: 0 1px 0 var(--line); }
        .screen > .bar > .status, .screen > .bar > .bar-buttons { flex: 1 0 0; }
        .bar-buttons { justify-content: flex-end; }
        .large-title { padding: 2px 18px 6px; }
        .large-title h1 { font-size: 31px; line-height: 1.15; letter-spacing: -.022em; font-weight: 730; overflow-wrap: anywhere; }
        .large-title .subtitle { margin-top: 2px; font-variant-numeric: tabular-nums; }
        .time { display: flex; align-items: center; gap: 10px; padding: 9px 20px; border-top: 1px solid var(--line); background: var(--chrome); }
        .time input { flex: 1; min-width: 0; height: 20px; background: none; appearance: none; }
        .time input::-webkit-slider-runnable-track { height: 4px; border-radius: 2px; background: linear-gradient(to right, var(--tint) calc(var(--part, 1) * 100%), var(--line) 0); }
        .time input::-webkit-slider-thumb { appearance: none; width: 20px; height: 20px; margin-top: -8px; border-radius: 50%; background: #fff; border: 1px solid rgb(0 0 0 / .12); box-shadow: 0 1px 4px rgb(0 0 0 / .25); }
        .time input::-moz-range-track { height: 4px; border-radius: 2px; background: var(--line); }
        .time input::-moz-range-progress { height: 4px; border-radius: 2px; background: var(--tint); }
        .time input:focus-visible { outline-offset: 6px; border-radius: 4px; }
        .time input:disabled { opacity: .5; }
        .moment-label { font-size: 13px; color: var(--soft); font-variant-numeric: tabular-nums; min-width: 2ch; text-align: right; }
        .past .time { background: var(--tint-soft); }
        .past .list { filter: saturate(.75); }
        .empty-table { padding: 18vh 24px 0; text-align: center; color: var(--soft); font-size: 18px; }

        /* The list: every item stands at its place by a transform. */
        .list { position: relative; margin-bottom: 28px; }
        .item { position: absolute; inset: 0 0 auto; }
        .row { background: var(--card); overflow: hidden; cursor: default; }
        .row.first { border-start-start-radius: var(--radius); border-start-end-radius: var(--radius); }
        .row.last { border-end-start-radius: var(--radius); border-end-end-radius: var(--radius); }
        .row:not(.last)::after { content: ""; position: absolute; inset: auto 0 0 18px; border-bottom: 1px solid var(--line); opacity: .7; }
        .row:focus-visible { outline-offset: -2px; }
        .row[aria-selected=true]::before { content: ""; position: absolute; inset: 7px auto 7px 5px; width: 3px; border-radius: 2px; background: var(--tint); }
        .row:active:not([data-carried]):not(:has(input:active, button:active)) { background: var(--hover); }
        .cell { display: flex; align-items: center; min-height: 46px; }
        .row[data-fixed] .cell { height: 100%; min-height: 0; }
        .content { flex: 1; min-width: 0; display: flex; flex-wrap: wrap; align-items: center; gap: 4px 12px; padding: 7px 18px; }
        .row[data-fixed] .content { flex-wrap: nowrap; padding-block: 0; }
        .labels { flex: 1; min-width: min(100%, 9em); display: flex; align-items: center; gap: 12px; }
        .labels .names { flex: 1 1 auto; min-width: 34%; }
        .labels .title, .labels .subtitle { overflow-wrap: anywhere; }
        .labels .subtitle { line-height: 1.3; }
        .labels .detail { max-width: 60%; color: var(--soft); text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
        .centred { flex: 1; text-align: center; }
        .unknown { flex: 1; min-width: 0; padding: 4px 0; }
        .unknown pre, .title-text pre { font: 12px/1.45 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
        .thumbnail { width: 52px; height: 52px; border-radius: 9px; object-fit: cover; flex: none; background: var(--sunk); }
        .glyph { display: grid; place-items: center; color: var(--faint); }
        .title-text { display: flex; align-items: flex-end; gap: 8px; height: 100%; padding: 14px 18px 6px; font-size: 13px; color: var(--soft); }
        .header .title-text { text-transform: none; }
        .header [role=heading] { overflow-wrap: anywhere; }
        .footer .title-text { padding: 6px 18px 4px; align-items: flex-start; }
        .hidden .title-text { align-items: center; margin: 6px 0 0; padding: 4px 12px 4px 16px; height: 34px; border: 1px dashed var(--line); border-radius: var(--radius); color: var(--faint); }
        .hidden .title-text span { flex: 1; }

        .content .field { flex: 1; border: 0; background: none; padding: 4px 0; border-radius: 4px; width: 100%; }
        .content .field::placeholder { color: var(--faint); }
        .content .field:disabled { opacity: 1; }
        .content .field.unsent { box-shadow: inset 0 -2px var(--orange); border-radius: 0; }
        .content .field:is(.date, .time, .datetime-local) { flex: none; width: auto; margin-inline: auto; padding: 5px 10px; background: var(--hover); border-radius: 8px; }
        .content:has(.field):not(:has(.date, .time)) { cursor: text; }
        .switch { flex: none; width: 50px; height: 30px; border-radius: 15px; background: light-dark(#d8d8de, #48484c); position: relative; transition: background .2s; }
        .switch::after { content: ""; position: absolute; inset: 2px auto auto 2px; width: 26px; height: 26px; border-radius: 50%; background: #fff; box-shadow: 0 2px 5px rgb(0 0 0 / .25); transition: translate .2s; }
        .switch[aria-checked=true] { background: light-dark(#30b457, #30d158); }
        .switch[aria-checked=true]::after { translate: 20px; }
        .segments { flex: 1; display: flex; padding: 2px; border-radius: 9px; background: light-dark(#e8e8ee, #303034); }
        .segments button { flex: 1; min-width: 0; padding: 4px 6px; border-radius: 7px; font-size: 13.5px; text-transform: capitalize; overflow: hidden; text-overflow: ellipsis; }
        .segments button[aria-checked=true] { background: light-dark(#fff, #636368); box-shadow: 0 1px 4px rgb(0 0 0 / .16); font-weight: 580; }
        .event { flex: none; color: var(--tint); font-weight: 540; padding: 4px 10px; border-radius: 8px; background: var(--tint-soft); font-size: 13.5px; }

        /* Edit mode */
        .sign, .handle, .delete { display: none; flex: none; }
        .editing .sign { display: grid; place-items: center; width: 24px; height: 24px; margin-left: 16px; border-radius: 50%; color: #fff; }
        .sign .symbol { width: 16px; height: 16px; stroke-width: 2.6; }
        .sign.minus { background: light-dark(#ff3b30, #ff453a); transition: rotate .2s; }
        .sign.plus { background: light-dark(#2fb350, #30d158); }
        [data-confirming] .sign.minus { rotate: 90deg; }
        .editing .handle { display: grid; place-items: center; align-self: stretch; width: 52px; color: var(--faint); cursor: grab; touch-action: none; }
        .editing .sign ~ .content { padding-left: 12px; }
        .editing [data-confirming] .delete { display: block; align-self: stretch; padding: 0 20px; background: light-dark(#e5342a, #ff453a); color: #fff; animation: slide-in .22s; }
        .editing [data-confirming] .handle { display: none; }
        @keyframes slide-in { from { translate: 100%; } }
        .carrying, .carrying .handle { cursor: grabbing; }
        .item[data-carried] { z-index: 2; border-radius: var(--radius); box-shadow: var(--shadow); background: light-dark(#fffffff0, #2c2c2ef0); }
        .item[data-carried]::after { display: none; }
        .item[data-closed] { opacity: .4; }
        .leaving { z-index: -1; }

        /* The panel */
        .tabs { display: flex; gap: 2px; margin: 10px 12px 8px; padding: 2px; border-radius: 9px; background: light-dark(#ececf2, #242428); flex: none; }
        .tabs button { flex: 1; min-height: 28px; border-radius: 7px; font-size: 13px; font-weight: 540; color: var(--soft); }
        .tabs button[aria-selected=true] { background: var(--card); color: var(--text); box-shadow: 0 1px 3px rgb(0 0 0 / .14); }
        .panel-body { flex: 1; overflow: auto; padding: 2px 12px 20px; scrollbar-width: thin; }
        .panel-title { font-size: 15px; padding: 13px 18px; }
        .panel-content { display: flex; flex-direction: column; gap: 8px; }
        .panel-content h2 { font-size: 17px; overflow-wrap: anywhere; }
        .panel-content h3 { font-size: 12px; font-weight: 620; color: var(--soft); margin-top: 6px; }
        .facts { display: grid; grid-template-columns: max-content 1fr; gap: 3px 14px; font-size: 13.5px; }
        .facts dt { color: var(--soft); }
        .facts dd { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
        .json { font: 12px/1.55 var(--mono); padding: 9px 11px; border-radius: 9px; background: var(--sunk); overflow: auto; max-height: 380px; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 2; }
        .json-key { color: light-dark(#6a3fc0, #b39dff); }
        .json-string { color: light-dark(#b3261e, #ff9d8a); }
        .json-number { color: light-dark(#0b5fc4, #7fb8ff); }
        .json-word { color: light-dark(#a34700, #ffb86b); }
        .moments > li { border-radius: 10px; }
        .moments > li.shown { background: var(--card); box-shadow: 0 0 0 1px var(--line); margin: 2px 0 6px; }
        .moment { width: 100%; display: flex; align-items: center; gap: 10px; padding: 6px 10px; border-radius: 10px; text-align: left; }
        .moment:hover { background: var(--hover); }
        .shown > .moment:hover { background: none; }
        .revision { font-weight: 620; font-variant-numeric: tabular-nums; min-width: 4ch; }
        .chips { flex: 1; display: flex; flex-wrap: wrap; gap: 4px; font-size: 12px; color: var(--soft); }
        .chip { padding: 0 7px; border-radius: 6px; font-weight: 620; font-variant-numeric: tabular-nums; color: var(--ink); background: color-mix(in srgb, var(--ink) 13%, transparent); }
        .deleted { --ink: var(--red); } .inserted { --ink: var(--green); } .moved { --ink: var(--blue); } .reloaded { --ink: var(--orange); } .updated { --ink: var(--purple); }
        .detail-body { padding: 2px 10px 10px; display: flex; flex-direction: column; gap: 8px; }
        .command { display: flex; align-items: center; gap: 8px; font-size: 12.5px; min-height: 28px; }
        .command:empty { display: none; }
        .command code, .request code { font: 600 12px var(--mono); color: var(--tint); background: var(--tint-soft); padding: 2px 7px; border-radius: 6px; }
        .command .body { flex: 1; min-width: 0; font-family: var(--mono); font-size: 11.5px; color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
        details summary { display: flex; align-items: center; justify-content: space-between; font-size: 13px; color: var(--soft); cursor: pointer; border-radius: 6px; }
        details[open] summary { margin-bottom: 2px; }
        .stage { width: 100%; max-width: 420px; height: auto; display: block; }
        .stage text { font-size: 10.5px; fill: var(--text); }
        .stage rect { fill: var(--sunk); stroke: var(--line); stroke-width: 1; }
        .stage-section rect { fill: none; stroke: none; }
        .stage-section text { font-weight: 650; fill: var(--soft); }
        .stage .gap { fill: var(--faint); text-anchor: middle; }
        .stage g:is(.deleted, .inserted, .moved, .reloaded, .updated) rect { fill: color-mix(in srgb, var(--ink) 16%, transparent); stroke: var(--ink); }
        .stage g:is(.deleted, .inserted, .moved, .reloaded, .updated) text { fill: var(--ink); font-weight: 600; }
        .stage .deleted text { text-decoration: line-through; }
        .link { fill: none; stroke: var(--line); stroke-width: 1; }
        .link.moved { stroke: var(--blue); stroke-width: 1.8; }
        .actions, .requests { display: flex; flex-direction: column; gap: 6px; }
        .action { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 10px; padding: 7px 6px 7px 12px; border-radius: 10px; background: var(--sunk); font-size: 13.5px; }
        .action-name { font-weight: 580; }
        .action label { display: flex; align-items: center; gap: 6px; color: var(--soft); font-size: 13px; }
        .action :is(input:not([type=checkbox]), select) { padding: 3px 8px; max-width: 130px; font-size: 13px; }
        .action input[type=number] { width: 64px; }
        .action-buttons { margin-left: auto; display: flex; gap: 2px; }
        .action .button.small { background: var(--card); }
        .console { display: flex; flex-direction: column; gap: 8px; }
        .choices { display: flex; flex-wrap: wrap; justify-content: flex-end; gap: 8px; align-items: center; }
        .requests li { padding: 6px 4px 8px 10px; border-radius: 10px; background: var(--sunk); border-left: 3px solid var(--green); }
        .requests li.refused { border-color: var(--red); }
        .request { display: flex; align-items: center; gap: 8px; font-size: 12.5px; }
        .request .path { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-family: var(--mono); font-size: 11.5px; }
        .request .took { color: var(--faint); white-space: nowrap; font-variant-numeric: tabular-nums; }
        .requests .body { font: 11.5px/1.45 var(--mono); color: var(--soft); white-space: pre-wrap; overflow-wrap: anywhere; max-height: 90px; overflow: auto; }

        .cell-event { display: flex; align-items: center; gap: 10px; padding: 4px 10px; }
        .cell-event .revision { font-weight: 500; font-size: 12px; color: var(--tint); }
        .cell-event .chips { font: 11.5px/1.5 var(--mono); overflow-wrap: anywhere; }
        .action > textarea { flex-basis: 100%; order: 1; }

        /* What stands above the page */
        .menu-place { position: relative; }
        .menu { margin: 0; position: fixed; inset: 52px 12px auto auto; border: 1px solid var(--line); border-radius: 12px; background: var(--card); color: var(--text); box-shadow: var(--shadow); padding: 5px; min-width: 230px; }
        @supports (position-area: bottom) { .menu { inset: auto; margin-top: 4px; position-area: bottom span-left; } }
        .menu-item { display: flex; align-items: center; gap: 10px; width: 100%; padding: 7px 11px; border-radius: 8px; text-align: left; font-size: 14px; }
        .menu-item:hover { background: var(--hover); }
        .menu-item.destructive { color: var(--red); }
        .menu hr { border: 0; border-top: 1px solid var(--line); margin: 5px 0; }
        dialog { border: 0; border-radius: 16px; padding: 20px; width: min(460px, calc(100vw - 32px)); background: var(--card); color: var(--text); box-shadow: var(--shadow); }
        dialog::backdrop { background: rgb(10 10 20 / .38); }
        dialog form { display: flex; flex-direction: column; gap: 12px; }
        dialog h2 { font-size: 18px; }
        dialog .line { display: grid; grid-template-columns: 70px 1fr; align-items: center; gap: 8px; }
        #toasts { position: fixed; inset: auto 16px 16px auto; z-index: 10; display: flex; flex-direction: column; gap: 8px; width: min(400px, calc(100vw - 32px)); pointer-events: none; }
        .toast { pointer-events: auto; display: flex; align-items: flex-start; gap: 4px; padding: 11px 8px 11px 15px; border-radius: 13px; background: var(--card); box-shadow: var(--shadow); border: 1px solid var(--line); animation: rise .25s; font-size: 14px; }
        .toast.problem strong::before { content: ""; display: inline-block; width: 9px; height: 9px; margin-right: 8px; border-radius: 50%; background: var(--red); }
        .toast-text { flex: 1; min-width: 0; overflow-wrap: anywhere; padding: 3px 0; }
        .toast-text p, .toast-text li { color: var(--soft); font-size: 13px; }
        .toast code { font-family: var(--mono); font-size: 12px; color: var(--text); }
        .toast .button.icon { width: 28px; min-height: 28px; background: none; color: var(--faint); }
        @keyframes rise { from { translate: 0 12px; opacity: 0; } }

        /* The description's editor */
        .editor { height: 100%; display: grid; grid-template-rows: auto 1fr auto; background: var(--card); min-height: 0; }
        .editor .bar { background: var(--chrome); border-bottom: 1px solid var(--line); }
        .source-place { overflow: auto; display: flex; min-height: 0; font: 12.5px/19px var(--mono); tab-size: 2; scrollbar-width: thin; }
        .gutter { flex: none; position: sticky; left: 0; z-index: 1; min-height: 100%; height: max-content; padding: 10px 10px 40px 14px; text-align: right; color: var(--faint); background: var(--card); user-select: none; }
        .editor { --mark: var(--red); }
        .editor .warning { --mark: var(--orange); }
        .gutter :is(.faulty, .warning) { color: var(--mark); font-weight: 700; }
        .source-stack { position: relative; flex: 1; width: max-content; min-width: 0; height: max-content; min-height: 100%; }
        .mirror { font: inherit; white-space: pre; padding: 10px 24px 40px 4px; width: max-content; min-width: 100%; pointer-events: none; }
        .mirror mark { color: inherit; background: color-mix(in srgb, var(--mark) 14%, transparent); text-decoration: underline wavy var(--mark) 1.2px; text-underline-offset: 4px; }
        textarea.source { position: absolute; inset: 0; width: 100%; height: 100%; font: inherit; white-space: pre; padding: 10px 24px 40px 4px; border: 0; border-radius: 0; resize: none; overflow: hidden; background: none; color: transparent; caret-color: var(--text); outline-offset: -2px; }
        textarea.source::selection { background: color-mix(in srgb, var(--tint) 30%, transparent); color: transparent; }
        textarea.source:focus-visible { outline: none; }
        .faults { max-height: 32vh; overflow: auto; border-top: 1px solid var(--line); background: var(--chrome); }
        .faults:empty { display: none; }
        .faults button { display: flex; gap: 10px; align-items: baseline; width: 100%; text-align: left; padding: 8px 16px; font-size: 13px; border-bottom: 1px solid var(--line); }
        .faults button:hover { background: var(--hover); }
        .faults .line { color: var(--mark); font-weight: 600; white-space: nowrap; }
        .faults code { font-family: var(--mono); font-size: 12px; white-space: nowrap; color: var(--soft); }
        .preview { flex: 1; min-height: 0; background: var(--grouped); }
        .preview > .fault { padding: 14px 20px; }
        .preview .scroller { padding: 0 14px; }
        .preview .large-title h1 { font-size: 24px; }
        body[data-view=tables], body[data-view=new-table] { grid-template-columns: minmax(216px, 264px) minmax(380px, 1fr) minmax(320px, 400px); }
        body[data-view=welcome] { grid-template-columns: minmax(216px, 264px) 1fr; }
        body[data-view=welcome] #panel { display: none; }

        /* On a phone: one column at a time */
        @media (max-width: 1000px) and (min-width: 780px) {
          body, body[data-view] { grid-template-columns: 200px minmax(300px, 1fr) minmax(280px, 320px); }
        }
        @media (max-width: 779px) {
          body, body[data-view] { grid-template: 1fr auto / minmax(0, 1fr); height: 100dvh; }
          #sidebar, #main, #panel { display: none; border: 0; }
          body[data-pane=list] #sidebar, body[data-pane=panel] #panel { display: flex; }
          body[data-pane=main] #main { display: block; }
          #panes { display: flex; background: var(--chrome); border-top: 1px solid var(--line); padding-bottom: env(safe-area-inset-bottom); }
          #panes button { flex: 1; display: flex; flex-direction: column; align-items: center; gap: 1px; padding: 6px 0 5px; font-size: 11px; color: var(--soft); }
          #panes button[aria-pressed=true] { color: var(--tint); }
          #toasts { inset: 12px 16px auto; }
          .time { border-bottom: 0; }
          input, select, textarea { font-size: 16px !important; }
        }
        @media (prefers-reduced-motion: reduce) {
          *, ::before, ::after { animation: none !important; transition: none !important; }
        }

        """##
}
