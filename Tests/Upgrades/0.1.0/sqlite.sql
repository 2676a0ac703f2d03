PRAGMA application_id = 1114792297;
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE table_description (
    name TEXT NOT NULL,
    version INTEGER NOT NULL, -- 1, 2, 3, …
    updated INTEGER NOT NULL,
    description TEXT NOT NULL,
    UNIQUE (name, version)
) STRICT;
INSERT INTO table_description VALUES('attendees',1,946684800000,'{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}');
INSERT INTO table_description VALUES('attendees',2,946684800002,'{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}!"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}');
INSERT INTO table_description VALUES('attendees',3,946684800003,'{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}?"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}');
CREATE TABLE epoch_suffix (
    suffix TEXT NOT NULL,
    last_session INTEGER NOT NULL, -- the suffix belongs to the sessions up to this number
    is_due INTEGER NOT NULL -- 1: the next start replaces the suffix. This is a backup, or a server uses it with --synchronous normal
) STRICT;
INSERT INTO epoch_suffix VALUES('',0,0);
CREATE TABLE session (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    table_name TEXT,
    table_version INTEGER, -- of a registered description; null: the description stands in `state` or `opening`
    epoch TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    next_key INTEGER NOT NULL,
    next_section INTEGER NOT NULL,
    total_row_count INTEGER NOT NULL, -- as clients see it
    journal_bytes INTEGER NOT NULL DEFAULT 0 -- of the texts in its journal
) STRICT;
INSERT INTO session VALUES(1,'old','attendees',1,'epoch-1',0,946684800001,946684800001,5,3,4,0);
INSERT INTO session VALUES(3,'party','attendees',NULL,'epoch-3',5,946684800005,946684800011,7,3,4,5304);
INSERT INTO session VALUES(4,'plain',NULL,NULL,'epoch-4',12,946684800012,946684800024,3,2,2,2330);
INSERT INTO session VALUES(5,'list',NULL,NULL,'epoch-5',2,946684800025,946684800027,4,2,2,341);
CREATE TABLE opening (
    session INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    description TEXT -- inline; null: the registered one that the session still uses. Without a table: what is shown while there are no rows
) STRICT;
INSERT INTO opening VALUES(1,'{"id":"old","table":"attendees"}',NULL);
INSERT INTO opening VALUES(3,'{"id":"party","table":"attendees"}','{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}?"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}');
INSERT INTO opening VALUES(4,'{"id":"plain","rows":[{"id":"a"},{"id":"b"}]}',NULL);
INSERT INTO opening VALUES(5,'{"id":"list","rows":[{"id":"x"},{"id":"y"}]}',NULL);
CREATE TABLE state (
    session INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    displayed_sections TEXT, -- null: none were set
    cells TEXT, -- the session's own cells by model type; null: none
    description TEXT -- inline, if the session was bound to another one than it was opened with; else null
) STRICT;
INSERT INTO state VALUES(1,'{}',NULL,NULL,NULL);
INSERT INTO state VALUES(3,'{}',NULL,NULL,'{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"\u2013 ${model.name}"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}');
INSERT INTO state VALUES(4,'{}',NULL,NULL,NULL);
INSERT INTO state VALUES(5,'{"n":1.5}',NULL,NULL,NULL);
CREATE TABLE section (
    key INTEGER PRIMARY KEY,
    ordinal INTEGER NOT NULL,
    id TEXT NOT NULL,
    header TEXT, -- SQL null: none was set; JSON null: set to none
    footer TEXT,
    prefetched INTEGER -- the section's rows when the description's onPrefetch was last called
) STRICT;
INSERT INTO section VALUES(4294967297,65536,'attending',NULL,NULL,NULL);
INSERT INTO section VALUES(4294967298,131072,'invited',NULL,NULL,NULL);
INSERT INTO section VALUES(12884901889,65536,'attending',NULL,NULL,NULL);
INSERT INTO section VALUES(12884901890,131072,'invited',NULL,NULL,NULL);
INSERT INTO section VALUES(17179869185,65536,'s1',NULL,NULL,NULL);
INSERT INTO section VALUES(21474836481,65536,'s1',NULL,NULL,NULL);
CREATE TABLE model (
    key INTEGER PRIMARY KEY,
    section INTEGER NOT NULL, -- the section's number
    rank INTEGER NOT NULL,
    id TEXT, -- null: the model's type is not identifiable
    body TEXT NOT NULL
) STRICT;
INSERT INTO model VALUES(4294967297,1,0,'Omar','{"name":"Omar"}');
INSERT INTO model VALUES(4294967298,1,16777216,'Sara','{"name":"Sara"}');
INSERT INTO model VALUES(4294967299,1,33554432,'Zoë','{"name":"Zo\u00eb"}');
INSERT INTO model VALUES(4294967300,2,0,'Yvonne','{"name":"Yvonne"}');
INSERT INTO model VALUES(12884901890,2,-8388608,'Sara','{"name":"Sara"}');
INSERT INTO model VALUES(12884901892,2,0,'Yvonne','{"name":"Yvonne"}');
INSERT INTO model VALUES(12884901893,2,-16777216,'Omar','{"name":"Omar"}');
INSERT INTO model VALUES(12884901894,2,-33554432,'Zoë','{"name":"Zoë"}');
INSERT INTO model VALUES(17179869185,1,0,'a','{"id":"a","n":11}');
INSERT INTO model VALUES(17179869186,1,16777216,'b','{"id":"b"}');
INSERT INTO model VALUES(21474836481,1,0,'x','{"id":"x"}');
INSERT INTO model VALUES(21474836482,1,16777216,'y','{"id":"y"}');
INSERT INTO model VALUES(21474836483,1,-16777216,'w','{"id":"w"}');
CREATE TABLE published (
    session INTEGER PRIMARY KEY,
    updated INTEGER NOT NULL, -- when the published table was
    displayed_sections TEXT
) STRICT;
INSERT INTO published VALUES(5,946684800026,NULL);
CREATE TABLE published_section (
    key INTEGER PRIMARY KEY,
    ordinal INTEGER,
    id TEXT,
    header TEXT,
    footer TEXT,
    prefetched INTEGER
) STRICT;
CREATE TABLE published_model (
    key INTEGER PRIMARY KEY,
    section INTEGER,
    rank INTEGER,
    id TEXT,
    body TEXT
) STRICT;
INSERT INTO published_model VALUES(21474836483,NULL,NULL,NULL,NULL);
CREATE TABLE journal (
    key INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    command TEXT NOT NULL,
    changes TEXT NOT NULL, -- the update, in JSON
    cell_events TEXT, -- what controllers are told of the command's cell events, an array; null for none
    hidden TEXT, -- ids of the sections and rows that the update took out of sight; null: none
    undo TEXT NOT NULL -- what leads back to the revision before
) STRICT;
INSERT INTO journal VALUES(12884901889,946684800006,'{"edits":{"delete":{"section":"attending","row":0}}}','{"from":0,"to":1,"stages":[{"moveRows":[{"from":[0,0],"to":[1,0],"row":{"id":"Omar","cell":"PersonCell","model":{"name":"Omar"},"viewModel":{"title":"Omar?"},"movable":true}}]}],"totalRowCount":4}','[{"name":"left","payload":"Omar"}]',NULL,'{"updated":946684800005,"nextKey":5,"nextSection":3,"rows":[[1,0,"Omar",{"name":"Omar"},1]],"removedRows":[5]}');
INSERT INTO journal VALUES(12884901890,946684800007,'{"moves":{"from":["attending",0],"to":["invited",1]}}','{"from":1,"to":2,"stages":[{"moveRows":[{"from":[0,0],"to":[1,1],"row":{"id":"Sara","cell":"PersonCell","model":{"name":"Sara"},"viewModel":{"title":"Sara?"},"movable":true}}]}],"totalRowCount":4}',NULL,NULL,'{"updated":946684800006,"nextKey":6,"nextSection":3,"places":[[2,16777216,1]]}');
INSERT INTO journal VALUES(12884901891,946684800009,'{"edits":{"delete":{"section":"attending","row":0}}}','{"from":2,"to":3,"stages":[{"moveRows":[{"from":[0,0],"to":[1,0]}]},{"reloadRows":[{"at":[1,0],"row":{"id":"Zoë","cell":"PersonCell","model":{"name":"Zoë"},"viewModel":{"title":"Zoë?"},"movable":true}}]}],"totalRowCount":4}','[{"name":"left","payload":"Zoë"}]',NULL,'{"updated":946684800007,"nextKey":6,"nextSection":3,"rows":[[3,33554432,"Zoë",{"name":"Zo\u00eb"},1]],"removedRows":[6]}');
INSERT INTO journal VALUES(12884901892,946684800010,'{"table":{"version":2,"description":{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}!"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}}}','{"from":3,"to":4,"stages":[{"reloadRows":[{"at":[1,0],"row":{"id":"Zoë","cell":"PersonCell","model":{"name":"Zoë"},"viewModel":{"title":"Zoë!"},"movable":true}},{"at":[1,1],"row":{"id":"Omar","cell":"PersonCell","model":{"name":"Omar"},"viewModel":{"title":"Omar!"},"movable":true}},{"at":[1,2],"row":{"id":"Sara","cell":"PersonCell","model":{"name":"Sara"},"viewModel":{"title":"Sara!"},"movable":true}},{"at":[1,3],"row":{"id":"Yvonne","cell":"PersonCell","model":{"name":"Yvonne"},"viewModel":{"title":"Yvonne!"},"movable":true}}]}],"totalRowCount":4}',NULL,NULL,'{"updated":946684800009,"nextKey":7,"nextSection":3,"table":{"name":"attendees","version":3,"description":{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}?"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}}}');
INSERT INTO journal VALUES(12884901893,946684800011,'{"table":{"description":{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"\u2013 ${model.name}"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}}}','{"from":4,"to":5,"stages":[{"reloadRows":[{"at":[1,0],"row":{"id":"Zoë","cell":"PersonCell","model":{"name":"Zoë"},"viewModel":{"title":"– Zoë"},"movable":true}},{"at":[1,1],"row":{"id":"Omar","cell":"PersonCell","model":{"name":"Omar"},"viewModel":{"title":"– Omar"},"movable":true}},{"at":[1,2],"row":{"id":"Sara","cell":"PersonCell","model":{"name":"Sara"},"viewModel":{"title":"– Sara"},"movable":true}},{"at":[1,3],"row":{"id":"Yvonne","cell":"PersonCell","model":{"name":"Yvonne"},"viewModel":{"title":"– Yvonne"},"movable":true}}]}],"totalRowCount":4}',NULL,NULL,'{"updated":946684800010,"nextKey":7,"nextSection":3,"table":{"name":"attendees","version":2,"description":{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}!"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}}}');
INSERT INTO journal VALUES(17179869189,946684800017,'{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":4}}}}','{"from":4,"to":5,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":4}}}]}],"totalRowCount":2}',NULL,NULL,'{"updated":946684800016,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":3},1]]}');
INSERT INTO journal VALUES(17179869190,946684800018,'{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":5}}}}','{"from":5,"to":6,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":5}}}]}],"totalRowCount":2}',NULL,NULL,'{"updated":946684800017,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":4},1]]}');
INSERT INTO journal VALUES(17179869191,946684800019,'{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":6}}}}','{"from":6,"to":7,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":6}}}]}],"totalRowCount":2}',NULL,NULL,'{"updated":946684800018,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":5},1]]}');
INSERT INTO journal VALUES(17179869192,946684800020,'{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":7}}}}','{"from":7,"to":8,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":7}}}]}],"totalRowCount":2}',NULL,NULL,'{"updated":946684800019,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":6},1]]}');
INSERT INTO journal VALUES(17179869193,946684800021,'{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":8}}}}','{"from":8,"to":9,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":8}}}]}],"totalRowCount":2}',NULL,NULL,'{"updated":946684800020,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":7},1]]}');
INSERT INTO journal VALUES(17179869194,946684800022,'{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":9}}}}','{"from":9,"to":10,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":9}}}]}],"totalRowCount":2}',NULL,NULL,'{"updated":946684800021,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":8},1]]}');
INSERT INTO journal VALUES(17179869195,946684800023,'{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":10}}}}','{"from":10,"to":11,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":10}}}]}],"totalRowCount":2}',NULL,NULL,'{"updated":946684800022,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":9},1]]}');
INSERT INTO journal VALUES(17179869196,946684800024,'{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":11}}}}','{"from":11,"to":12,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":11}}}]}],"totalRowCount":2}',NULL,NULL,'{"updated":946684800023,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":10},1]]}');
INSERT INTO journal VALUES(21474836481,946684800026,'{"patchState":{"n":1.5}}','{"from":0,"to":1,"stages":[],"totalRowCount":2,"state":{"n":1.5}}',NULL,NULL,'{"updated":946684800025,"nextKey":3,"nextSection":2,"state":{}}');
INSERT INTO journal VALUES(21474836482,946684800027,'{"dataSource":{"addRow":{"at":[0,0],"model":{"id":"w"},"notify":false}}}','{"from":1,"to":2,"stages":[],"totalRowCount":2}',NULL,NULL,'{"updated":946684800026,"nextKey":3,"nextSection":2,"removedRows":[3]}');
CREATE TABLE answer (
    session INTEGER NOT NULL, -- 0: the opening of a session
    requester TEXT NOT NULL, -- the id of the requester's token; empty: a controller
    key TEXT NOT NULL, -- the client's Idempotency-Key
    at INTEGER NOT NULL,
    request INTEGER NOT NULL, -- a hash of what was asked
    answer TEXT NOT NULL, -- {"status", "headers", "body" or "snapshot"}
    cost_before INTEGER NOT NULL, -- of the requester's earlier answers
    cost INTEGER NOT NULL, -- of this one: about its bytes
    PRIMARY KEY (session, requester, key)
) STRICT, WITHOUT ROWID;
INSERT INTO answer VALUES(0,'','open-party',946684800006,2792969374180861485,'{"status":201,"headers":[["Location","/v1/sessions/party"]],"snapshot":{"session":"party","epoch":"epoch-3"}}',0,1024);
INSERT INTO answer VALUES(3,'','key-3',946684800010,3209988356625925788,'{"status":200,"headers":[["Content-Type","application/json"],["ETag","\"epoch-3.3\""]],"body":{"revision":3,"outcome":"applied","update":{"from":2,"to":3,"stages":[{"moveRows":[{"from":[0,0],"to":[1,0]}]},{"reloadRows":[{"at":[1,0],"row":{"id":"Zoë","cell":"PersonCell","model":{"name":"Zoë"},"viewModel":{"title":"Zoë?"},"movable":true}}]}],"totalRowCount":4}}}',0,1024);
INSERT INTO answer VALUES(3,'oEMdlgBJ10v9','key-0',946684800007,3209988356625925788,'{"status":200,"headers":[["Content-Type","application/json"],["ETag","\"epoch-3.1\""]],"body":{"revision":1,"outcome":"applied","update":{"from":0,"to":1,"stages":[{"moveRows":[{"from":[0,0],"to":[1,0],"row":{"id":"Omar","cell":"PersonCell","model":{"name":"Omar"},"viewModel":{"title":"Omar?"},"movable":true}}]}],"totalRowCount":4}}}',0,1024);
INSERT INTO answer VALUES(3,'oEMdlgBJ10v9','key-1',946684800008,5150403962266442286,'{"status":200,"headers":[["Content-Type","application/json"],["ETag","\"epoch-3.2\""]],"body":{"revision":2,"outcome":"applied","update":{"from":1,"to":2,"stages":[{"moveRows":[{"from":[0,0],"to":[1,1],"row":{"id":"Sara","cell":"PersonCell","model":{"name":"Sara"},"viewModel":{"title":"Sara?"},"movable":true}}]}],"totalRowCount":4}}}',1024,1024);
INSERT INTO answer VALUES(3,'oEMdlgBJ10v9','key-2',946684800009,-2781432339285046827,'{"status":403,"headers":[["Content-Type","application/problem+json"]],"body":{"type":"/problems/editing-not-allowed","title":"Editing not allowed","status":403,"detail":"Row 0 of the section \"invited\" does not allow delete; its editing style is none.","instance":"/v1/sessions/party/edits","requestId":"request-14"}}',2048,1024);
CREATE TABLE token (
    id TEXT PRIMARY KEY,
    session INTEGER NOT NULL,
    role TEXT NOT NULL, -- participant or viewer
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    hash TEXT NOT NULL -- of the whole token: SHA-256 in hexadecimal
) STRICT, WITHOUT ROWID;
INSERT INTO token VALUES('oEMdlgBJ10v9',3,'participant',946684800006,1262044800006,'a142caff65d0b30fa5697c948f794002af5df01335a67808f74405bae6364d52');
INSERT INTO token VALUES('vRJ1p3a9c93e',3,'viewer',946684800006,1262044800006,'0bd2ff6a689ac6bbbbf6ead21dffb852c18429717e800be7eacb74c2a70a474f');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('session',5);
CREATE INDEX session_of_table ON session (table_name, table_version) WHERE table_version IS NOT NULL;
CREATE INDEX session_by_table ON session (table_name, id);
CREATE INDEX answer_by_age ON answer (at);
CREATE INDEX answer_by_cost ON answer (session, requester, cost_before);
CREATE INDEX token_of_session ON token (session, id);
CREATE INDEX token_by_expiry ON token (expires);
COMMIT;
