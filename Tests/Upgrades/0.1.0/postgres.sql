CREATE TABLE answer (
    session bigint NOT NULL,
    requester bytea NOT NULL,
    key bytea NOT NULL,
    at bigint NOT NULL,
    request bigint NOT NULL,
    answer text NOT NULL,
    cost_before bigint NOT NULL,
    cost bigint NOT NULL
);
CREATE TABLE braid_server (
    application text NOT NULL,
    version bigint NOT NULL
);
CREATE UNLOGGED TABLE crash_detector (
    is_set boolean NOT NULL
);
CREATE TABLE epoch_suffix (
    suffix bytea NOT NULL,
    last_session bigint NOT NULL,
    place text NOT NULL,
    loses_commits boolean NOT NULL
);
CREATE TABLE journal (
    session bigint NOT NULL,
    revision bigint NOT NULL,
    at bigint NOT NULL,
    command text NOT NULL,
    changes text NOT NULL,
    cell_events text,
    hidden text,
    undo text NOT NULL
);
CREATE TABLE model (
    session bigint NOT NULL,
    key bigint NOT NULL,
    section bigint NOT NULL,
    rank bigint NOT NULL,
    id bytea,
    body text NOT NULL
);
CREATE TABLE opening (
    session bigint NOT NULL,
    body text NOT NULL,
    description text
);
CREATE TABLE published (
    session bigint NOT NULL,
    updated bigint NOT NULL,
    displayed_sections text
);
CREATE TABLE published_model (
    session bigint NOT NULL,
    key bigint NOT NULL,
    section bigint,
    rank bigint,
    id bytea,
    body text
);
CREATE TABLE published_section (
    session bigint NOT NULL,
    key bigint NOT NULL,
    ordinal bigint,
    id bytea,
    header text,
    footer text,
    prefetched bigint
);
CREATE TABLE section (
    session bigint NOT NULL,
    key bigint NOT NULL,
    ordinal bigint NOT NULL,
    id bytea NOT NULL,
    header text,
    footer text,
    prefetched bigint
);
CREATE TABLE session (
    number bigint NOT NULL,
    id bytea NOT NULL,
    table_name bytea,
    table_version bigint,
    epoch bytea NOT NULL,
    revision bigint NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    next_key bigint NOT NULL,
    next_section bigint NOT NULL,
    total_row_count bigint NOT NULL,
    journal_bytes bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE session ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME session_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE state (
    session bigint NOT NULL,
    state text NOT NULL,
    displayed_sections text,
    cells text,
    description text
);
CREATE TABLE table_description (
    name bytea NOT NULL,
    version bigint NOT NULL,
    updated bigint NOT NULL,
    description text NOT NULL
);
CREATE TABLE token (
    id bytea NOT NULL,
    session bigint NOT NULL,
    role text NOT NULL,
    created bigint NOT NULL,
    expires bigint NOT NULL,
    hash text NOT NULL
);
INSERT INTO answer VALUES (0, '\x', '\x6f70656e2d7061727479', 946684800006, 2792969374180861485, '{"status":201,"headers":[["Location","/v1/sessions/party"]],"snapshot":{"session":"party","epoch":"epoch-3"}}', 0, 1024);
INSERT INTO answer VALUES (3, '\x357261714530727a534a7859', '\x6b65792d30', 946684800007, 3209988356625925788, '{"status":200,"headers":[["Content-Type","application/json"],["ETag","\"epoch-3.1\""]],"body":{"revision":1,"outcome":"applied","update":{"from":0,"to":1,"stages":[{"moveRows":[{"from":[0,0],"to":[1,0],"row":{"id":"Omar","cell":"PersonCell","model":{"name":"Omar"},"viewModel":{"title":"Omar?"},"movable":true}}]}],"totalRowCount":4}}}', 0, 1024);
INSERT INTO answer VALUES (3, '\x357261714530727a534a7859', '\x6b65792d31', 946684800008, 5150403962266442286, '{"status":200,"headers":[["Content-Type","application/json"],["ETag","\"epoch-3.2\""]],"body":{"revision":2,"outcome":"applied","update":{"from":1,"to":2,"stages":[{"moveRows":[{"from":[0,0],"to":[1,1],"row":{"id":"Sara","cell":"PersonCell","model":{"name":"Sara"},"viewModel":{"title":"Sara?"},"movable":true}}]}],"totalRowCount":4}}}', 1024, 1024);
INSERT INTO answer VALUES (3, '\x357261714530727a534a7859', '\x6b65792d32', 946684800009, -2781432339285046827, '{"status":403,"headers":[["Content-Type","application/problem+json"]],"body":{"type":"/problems/editing-not-allowed","title":"Editing not allowed","status":403,"detail":"Row 0 of the section \"invited\" does not allow delete; its editing style is none.","instance":"/v1/sessions/party/edits","requestId":"request-14"}}', 2048, 1024);
INSERT INTO answer VALUES (3, '\x', '\x6b65792d33', 946684800010, 3209988356625925788, '{"status":200,"headers":[["Content-Type","application/json"],["ETag","\"epoch-3.3\""]],"body":{"revision":3,"outcome":"applied","update":{"from":2,"to":3,"stages":[{"moveRows":[{"from":[0,0],"to":[1,0]}]},{"reloadRows":[{"at":[1,0],"row":{"id":"Zoë","cell":"PersonCell","model":{"name":"Zoë"},"viewModel":{"title":"Zoë?"},"movable":true}}]}],"totalRowCount":4}}}', 0, 1024);
INSERT INTO braid_server VALUES ('Braid Server', 1);
INSERT INTO epoch_suffix VALUES ('\x', 0, '7711972261794659241.00000001.5.16396', false);
INSERT INTO journal VALUES (3, 1, 946684800006, '{"edits":{"delete":{"section":"attending","row":0}}}', '{"from":0,"to":1,"stages":[{"moveRows":[{"from":[0,0],"to":[1,0],"row":{"id":"Omar","cell":"PersonCell","model":{"name":"Omar"},"viewModel":{"title":"Omar?"},"movable":true}}]}],"totalRowCount":4}', '[{"name":"left","payload":"Omar"}]', NULL, '{"updated":946684800005,"nextKey":5,"nextSection":3,"rows":[[1,0,"Omar",{"name":"Omar"},1]],"removedRows":[5]}');
INSERT INTO journal VALUES (3, 2, 946684800007, '{"moves":{"from":["attending",0],"to":["invited",1]}}', '{"from":1,"to":2,"stages":[{"moveRows":[{"from":[0,0],"to":[1,1],"row":{"id":"Sara","cell":"PersonCell","model":{"name":"Sara"},"viewModel":{"title":"Sara?"},"movable":true}}]}],"totalRowCount":4}', NULL, NULL, '{"updated":946684800006,"nextKey":6,"nextSection":3,"places":[[2,16777216,1]]}');
INSERT INTO journal VALUES (3, 3, 946684800009, '{"edits":{"delete":{"section":"attending","row":0}}}', '{"from":2,"to":3,"stages":[{"moveRows":[{"from":[0,0],"to":[1,0]}]},{"reloadRows":[{"at":[1,0],"row":{"id":"Zoë","cell":"PersonCell","model":{"name":"Zoë"},"viewModel":{"title":"Zoë?"},"movable":true}}]}],"totalRowCount":4}', '[{"name":"left","payload":"Zoë"}]', NULL, '{"updated":946684800007,"nextKey":6,"nextSection":3,"rows":[[3,33554432,"Zoë",{"name":"Zo\u00eb"},1]],"removedRows":[6]}');
INSERT INTO journal VALUES (3, 4, 946684800010, '{"table":{"version":2,"description":{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}!"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}}}', '{"from":3,"to":4,"stages":[{"reloadRows":[{"at":[1,0],"row":{"id":"Zoë","cell":"PersonCell","model":{"name":"Zoë"},"viewModel":{"title":"Zoë!"},"movable":true}},{"at":[1,1],"row":{"id":"Omar","cell":"PersonCell","model":{"name":"Omar"},"viewModel":{"title":"Omar!"},"movable":true}},{"at":[1,2],"row":{"id":"Sara","cell":"PersonCell","model":{"name":"Sara"},"viewModel":{"title":"Sara!"},"movable":true}},{"at":[1,3],"row":{"id":"Yvonne","cell":"PersonCell","model":{"name":"Yvonne"},"viewModel":{"title":"Yvonne!"},"movable":true}}]}],"totalRowCount":4}', NULL, NULL, '{"updated":946684800009,"nextKey":7,"nextSection":3,"table":{"name":"attendees","version":3,"description":{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}?"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}}}');
INSERT INTO journal VALUES (3, 5, 946684800011, '{"table":{"description":{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"\u2013 ${model.name}"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}}}', '{"from":4,"to":5,"stages":[{"reloadRows":[{"at":[1,0],"row":{"id":"Zoë","cell":"PersonCell","model":{"name":"Zoë"},"viewModel":{"title":"– Zoë"},"movable":true}},{"at":[1,1],"row":{"id":"Omar","cell":"PersonCell","model":{"name":"Omar"},"viewModel":{"title":"– Omar"},"movable":true}},{"at":[1,2],"row":{"id":"Sara","cell":"PersonCell","model":{"name":"Sara"},"viewModel":{"title":"– Sara"},"movable":true}},{"at":[1,3],"row":{"id":"Yvonne","cell":"PersonCell","model":{"name":"Yvonne"},"viewModel":{"title":"– Yvonne"},"movable":true}}]}],"totalRowCount":4}', NULL, NULL, '{"updated":946684800010,"nextKey":7,"nextSection":3,"table":{"name":"attendees","version":2,"description":{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}!"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}}}');
INSERT INTO journal VALUES (4, 5, 946684800017, '{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":4}}}}', '{"from":4,"to":5,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":4}}}]}],"totalRowCount":2}', NULL, NULL, '{"updated":946684800016,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":3},1]]}');
INSERT INTO journal VALUES (4, 6, 946684800018, '{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":5}}}}', '{"from":5,"to":6,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":5}}}]}],"totalRowCount":2}', NULL, NULL, '{"updated":946684800017,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":4},1]]}');
INSERT INTO journal VALUES (4, 7, 946684800019, '{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":6}}}}', '{"from":6,"to":7,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":6}}}]}],"totalRowCount":2}', NULL, NULL, '{"updated":946684800018,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":5},1]]}');
INSERT INTO journal VALUES (4, 8, 946684800020, '{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":7}}}}', '{"from":7,"to":8,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":7}}}]}],"totalRowCount":2}', NULL, NULL, '{"updated":946684800019,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":6},1]]}');
INSERT INTO journal VALUES (4, 9, 946684800021, '{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":8}}}}', '{"from":8,"to":9,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":8}}}]}],"totalRowCount":2}', NULL, NULL, '{"updated":946684800020,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":7},1]]}');
INSERT INTO journal VALUES (4, 10, 946684800022, '{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":9}}}}', '{"from":9,"to":10,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":9}}}]}],"totalRowCount":2}', NULL, NULL, '{"updated":946684800021,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":8},1]]}');
INSERT INTO journal VALUES (4, 11, 946684800023, '{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":10}}}}', '{"from":10,"to":11,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":10}}}]}],"totalRowCount":2}', NULL, NULL, '{"updated":946684800022,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":9},1]]}');
INSERT INTO journal VALUES (4, 12, 946684800024, '{"dataSource":{"updateRow":{"at":[0,0],"model":{"id":"a","n":11}}}}', '{"from":11,"to":12,"stages":[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"object","model":{"id":"a","n":11}}}]}],"totalRowCount":2}', NULL, NULL, '{"updated":946684800023,"nextKey":3,"nextSection":2,"rows":[[1,0,"a",{"id":"a","n":10},1]]}');
INSERT INTO journal VALUES (5, 1, 946684800026, '{"patchState":{"n":1.5}}', '{"from":0,"to":1,"stages":[],"totalRowCount":2,"state":{"n":1.5}}', NULL, NULL, '{"updated":946684800025,"nextKey":3,"nextSection":2,"state":{}}');
INSERT INTO journal VALUES (5, 2, 946684800027, '{"dataSource":{"addRow":{"at":[0,0],"model":{"id":"w"},"notify":false}}}', '{"from":1,"to":2,"stages":[],"totalRowCount":2}', NULL, NULL, '{"updated":946684800026,"nextKey":3,"nextSection":2,"removedRows":[3]}');
INSERT INTO model VALUES (1, 1, 1, 0, '\x4f6d6172', '{"name":"Omar"}');
INSERT INTO model VALUES (1, 2, 1, 16777216, '\x53617261', '{"name":"Sara"}');
INSERT INTO model VALUES (1, 3, 1, 33554432, '\x5a6fc3ab', '{"name":"Zo\u00eb"}');
INSERT INTO model VALUES (1, 4, 2, 0, '\x59766f6e6e65', '{"name":"Yvonne"}');
INSERT INTO model VALUES (3, 4, 2, 0, '\x59766f6e6e65', '{"name":"Yvonne"}');
INSERT INTO model VALUES (3, 5, 2, -16777216, '\x4f6d6172', '{"name":"Omar"}');
INSERT INTO model VALUES (3, 2, 2, -8388608, '\x53617261', '{"name":"Sara"}');
INSERT INTO model VALUES (3, 6, 2, -33554432, '\x5a6fc3ab', '{"name":"Zoë"}');
INSERT INTO model VALUES (4, 2, 1, 16777216, '\x62', '{"id":"b"}');
INSERT INTO model VALUES (4, 1, 1, 0, '\x61', '{"id":"a","n":11}');
INSERT INTO model VALUES (5, 1, 1, 0, '\x78', '{"id":"x"}');
INSERT INTO model VALUES (5, 2, 1, 16777216, '\x79', '{"id":"y"}');
INSERT INTO model VALUES (5, 3, 1, -16777216, '\x77', '{"id":"w"}');
INSERT INTO opening VALUES (1, '{"id":"old","table":"attendees"}', NULL);
INSERT INTO opening VALUES (3, '{"id":"party","table":"attendees"}', '{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}?"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}');
INSERT INTO opening VALUES (4, '{"id":"plain","rows":[{"id":"a"},{"id":"b"}]}', NULL);
INSERT INTO opening VALUES (5, '{"id":"list","rows":[{"id":"x"},{"id":"y"}]}', NULL);
INSERT INTO published VALUES (5, 946684800026, NULL);
INSERT INTO published_model VALUES (5, 3, NULL, NULL, NULL, NULL);
INSERT INTO section VALUES (1, 1, 65536, '\x617474656e64696e67', NULL, NULL, NULL);
INSERT INTO section VALUES (1, 2, 131072, '\x696e7669746564', NULL, NULL, NULL);
INSERT INTO section VALUES (3, 1, 65536, '\x617474656e64696e67', NULL, NULL, NULL);
INSERT INTO section VALUES (3, 2, 131072, '\x696e7669746564', NULL, NULL, NULL);
INSERT INTO section VALUES (4, 1, 65536, '\x7331', NULL, NULL, NULL);
INSERT INTO section VALUES (5, 1, 65536, '\x7331', NULL, NULL, NULL);
INSERT INTO session OVERRIDING SYSTEM VALUE VALUES (1, '\x6f6c64', '\x617474656e64656573', 1, '\x65706f63682d31', 0, 946684800001, 946684800001, 5, 3, 4, 0);
INSERT INTO session OVERRIDING SYSTEM VALUE VALUES (3, '\x7061727479', '\x617474656e64656573', NULL, '\x65706f63682d33', 5, 946684800005, 946684800011, 7, 3, 4, 5304);
INSERT INTO session OVERRIDING SYSTEM VALUE VALUES (4, '\x706c61696e', NULL, NULL, '\x65706f63682d34', 12, 946684800012, 946684800024, 3, 2, 2, 2330);
INSERT INTO session OVERRIDING SYSTEM VALUE VALUES (5, '\x6c697374', NULL, NULL, '\x65706f63682d35', 2, 946684800025, 946684800027, 4, 2, 2, 341);
INSERT INTO state VALUES (1, '{}', NULL, NULL, NULL);
INSERT INTO state VALUES (3, '{}', NULL, NULL, '{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"\u2013 ${model.name}"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}');
INSERT INTO state VALUES (4, '{}', NULL, NULL, NULL);
INSERT INTO state VALUES (5, '{"n":1.5}', NULL, NULL, NULL);
INSERT INTO table_description VALUES ('\x617474656e64656573', 1, 946684800000, '{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}');
INSERT INTO table_description VALUES ('\x617474656e64656573', 2, 946684800002, '{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}!"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}');
INSERT INTO table_description VALUES ('\x617474656e64656573', 3, 946684800003, '{"table":"attendees","sections":["attending","invited"],"cells":{"PersonCell":{}},"modelTypes":{"Person":{"id":"/name"}},"bindings":[{"on":{"sections":["attending","invited"]},"cell":"PersonCell","modelType":"Person","models":{"attending":[{"name":"Omar"},{"name":"Sara"},{"name":"Zo\u00eb"}],"invited":[{"name":"Yvonne"}]},"viewModel":{"title":"${model.name}?"},"headers":{"attending":"ATTENDING","invited":"INVITED"},"moving":{"to":["attending","invited"]}},{"on":{"section":"attending"},"editing":"delete","onDelete":[{"if":"reason == ''editing''","do":[{"insert":{"section":"invited","row":0,"model":{"$eval":"model"}}},{"emit":{"name":"left","payload":{"$eval":"model.name"}}}]}]}]}');
INSERT INTO token VALUES ('\x357261714530727a534a7859', 3, 'participant', 946684800006, 1262044800006, 'dd83407fa8631160c58d0b198a26df4c11c1c8fdb098e85fd6236d6e4ff200d9');
INSERT INTO token VALUES ('\x6a314e746556684e53506d59', 3, 'viewer', 946684800006, 1262044800006, 'a786a23ee406c97d1e441777d93218ba428578c38e1fa3c5d3ca3a4cf44a6343');
SELECT pg_catalog.setval('session_number_seq', 5, true);
ALTER TABLE ONLY answer
    ADD CONSTRAINT answer_pkey PRIMARY KEY (session, requester, key);
ALTER TABLE ONLY journal
    ADD CONSTRAINT journal_pkey PRIMARY KEY (session, revision);
ALTER TABLE ONLY model
    ADD CONSTRAINT model_pkey PRIMARY KEY (session, key);
ALTER TABLE ONLY opening
    ADD CONSTRAINT opening_pkey PRIMARY KEY (session);
ALTER TABLE ONLY published_model
    ADD CONSTRAINT published_model_pkey PRIMARY KEY (session, key);
ALTER TABLE ONLY published
    ADD CONSTRAINT published_pkey PRIMARY KEY (session);
ALTER TABLE ONLY published_section
    ADD CONSTRAINT published_section_pkey PRIMARY KEY (session, key);
ALTER TABLE ONLY section
    ADD CONSTRAINT section_pkey PRIMARY KEY (session, key);
ALTER TABLE ONLY session
    ADD CONSTRAINT session_id_key UNIQUE (id);
ALTER TABLE ONLY session
    ADD CONSTRAINT session_pkey PRIMARY KEY (number);
ALTER TABLE ONLY state
    ADD CONSTRAINT state_pkey PRIMARY KEY (session);
ALTER TABLE ONLY table_description
    ADD CONSTRAINT table_description_pkey PRIMARY KEY (name, version);
ALTER TABLE ONLY token
    ADD CONSTRAINT token_pkey PRIMARY KEY (id);
CREATE INDEX answer_by_age ON answer USING btree (at);
CREATE INDEX answer_by_cost ON answer USING btree (session, requester, cost_before);
CREATE INDEX session_by_table ON session USING btree (table_name, id);
CREATE INDEX session_of_table ON session USING btree (table_name, table_version) WHERE (table_version IS NOT NULL);
CREATE INDEX token_by_expiry ON token USING btree (expires);
CREATE INDEX token_of_session ON token USING btree (session, id);
ALTER TABLE ONLY published_model
    ADD CONSTRAINT published_model_session_fkey FOREIGN KEY (session) REFERENCES published(session) ON DELETE CASCADE;
ALTER TABLE ONLY published_section
    ADD CONSTRAINT published_section_session_fkey FOREIGN KEY (session) REFERENCES published(session) ON DELETE CASCADE;
ALTER TABLE ONLY session
    ADD CONSTRAINT session_table_name_table_version_fkey FOREIGN KEY (table_name, table_version) REFERENCES table_description(name, version);
UPDATE epoch_suffix SET place = '';
UPDATE answer SET at = extract(epoch FROM clock_timestamp()) * 1000 - 3600000;
