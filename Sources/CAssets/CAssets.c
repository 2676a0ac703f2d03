#include "CAssets.h"

// Paths are relative to this file, which `swift build` compiles again when an embedded file changes. For a new file in
// Web/, add an array here and a line in the table `web`.

static const unsigned char schema[] = {
#embed "../../schema.sql"
};
static const unsigned char schema_postgres[] = {
#embed "../../schema-postgres.sql"
};
static const unsigned char openapi[] = {
#embed "../../docs/openapi.json"
};
static const unsigned char problems[] = {
#embed "../../docs/problems.json"
};
static const unsigned char index_html[] = {
#embed "../../Web/index.html"
};
static const unsigned char inspector_css[] = {
#embed "../../Web/inspector.css"
};
static const unsigned char inspector_js[] = {
#embed "../../Web/inspector.js"
};
static const unsigned char braid_js[] = {
#embed "../../Web/braid.js"
};
static const unsigned char braid_d_ts[] = {
#embed "../../Web/braid.d.ts"
};
static const unsigned char inspector_cells_js[] = {
#embed "../../Web/inspector/cells.js"
};
static const unsigned char inspector_console_js[] = {
#embed "../../Web/inspector/console.js"
};
static const unsigned char inspector_dom_js[] = {
#embed "../../Web/inspector/dom.js"
};
static const unsigned char inspector_dragging_js[] = {
#embed "../../Web/inspector/dragging.js"
};
static const unsigned char inspector_editor_js[] = {
#embed "../../Web/inspector/editor.js"
};
static const unsigned char inspector_frames_js[] = {
#embed "../../Web/inspector/frames.js"
};
static const unsigned char inspector_items_js[] = {
#embed "../../Web/inspector/items.js"
};
static const unsigned char inspector_layout_js[] = {
#embed "../../Web/inspector/layout.js"
};
static const unsigned char inspector_list_js[] = {
#embed "../../Web/inspector/list.js"
};
static const unsigned char inspector_people_js[] = {
#embed "../../Web/inspector/people.js"
};
static const unsigned char inspector_pointers_js[] = {
#embed "../../Web/inspector/pointers.js"
};
static const unsigned char inspector_row_js[] = {
#embed "../../Web/inspector/row.js"
};
static const unsigned char inspector_screen_js[] = {
#embed "../../Web/inspector/screen.js"
};
static const unsigned char inspector_scroll_js[] = {
#embed "../../Web/inspector/scroll.js"
};
static const unsigned char inspector_server_js[] = {
#embed "../../Web/inspector/server.js"
};
static const unsigned char inspector_session_js[] = {
#embed "../../Web/inspector/session.js"
};
static const unsigned char inspector_sidebar_js[] = {
#embed "../../Web/inspector/sidebar.js"
};
static const unsigned char inspector_stages_js[] = {
#embed "../../Web/inspector/stages.js"
};
static const unsigned char inspector_table_js[] = {
#embed "../../Web/inspector/table.js"
};
static const unsigned char inspector_timeline_js[] = {
#embed "../../Web/inspector/timeline.js"
};
static const unsigned char inspector_toasts_js[] = {
#embed "../../Web/inspector/toasts.js"
};
static const unsigned char inspector_updates_js[] = {
#embed "../../Web/inspector/updates.js"
};
static const unsigned char inspector_watched_js[] = {
#embed "../../Web/inspector/watched.js"
};

#define FILE(name, bytes) {name, bytes, sizeof bytes}

const struct cassets_file cassets_schema = FILE("schema.sql", schema);
const struct cassets_file cassets_schema_postgres = FILE("schema-postgres.sql", schema_postgres);
const struct cassets_file cassets_openapi = FILE("docs/openapi.json", openapi);
const struct cassets_file cassets_problems = FILE("docs/problems.json", problems);

static const struct cassets_file web[] = {
    FILE("index.html", index_html),
    FILE("inspector.css", inspector_css),
    FILE("inspector.js", inspector_js),
    FILE("braid.js", braid_js),
    FILE("braid.d.ts", braid_d_ts),
    FILE("inspector/cells.js", inspector_cells_js),
    FILE("inspector/console.js", inspector_console_js),
    FILE("inspector/dom.js", inspector_dom_js),
    FILE("inspector/dragging.js", inspector_dragging_js),
    FILE("inspector/editor.js", inspector_editor_js),
    FILE("inspector/frames.js", inspector_frames_js),
    FILE("inspector/items.js", inspector_items_js),
    FILE("inspector/layout.js", inspector_layout_js),
    FILE("inspector/list.js", inspector_list_js),
    FILE("inspector/people.js", inspector_people_js),
    FILE("inspector/pointers.js", inspector_pointers_js),
    FILE("inspector/row.js", inspector_row_js),
    FILE("inspector/screen.js", inspector_screen_js),
    FILE("inspector/scroll.js", inspector_scroll_js),
    FILE("inspector/server.js", inspector_server_js),
    FILE("inspector/session.js", inspector_session_js),
    FILE("inspector/sidebar.js", inspector_sidebar_js),
    FILE("inspector/stages.js", inspector_stages_js),
    FILE("inspector/table.js", inspector_table_js),
    FILE("inspector/timeline.js", inspector_timeline_js),
    FILE("inspector/toasts.js", inspector_toasts_js),
    FILE("inspector/updates.js", inspector_updates_js),
    FILE("inspector/watched.js", inspector_watched_js),
};
const struct cassets_file *const cassets_web = web;
const size_t cassets_web_count = sizeof web / sizeof web[0];
