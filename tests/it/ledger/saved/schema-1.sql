-- A ledger as schema 1 wrote it, with a row in every table. Never changed: it stands for the files of users.
PRAGMA foreign_keys = OFF;
PRAGMA journal_mode = WAL;
PRAGMA application_id = 1684108135;
BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_sqlx_migrations" VALUES(1,'ledger','2026-11-30 19:52:20',1,X'0AFB51486E4521E6CBCCEE9AA54F41C5F1BDD38D20E4F426244632E22DF5F20F14A33956C9D1518597D2665977C5E0A6',1420428);
CREATE TABLE budgets (
    store   TEXT    NOT NULL,
    day     INTEGER NOT NULL, -- midnight UTC
    class_a INTEGER NOT NULL,
    class_b INTEGER NOT NULL,
    free    INTEGER NOT NULL,
    PRIMARY KEY (store, day)
) STRICT, WITHOUT ROWID;
INSERT INTO "budgets" VALUES('minio',1790726400000,1,2,0);
CREATE TABLE drills (
    run       INTEGER PRIMARY KEY REFERENCES runs (number),
    sha256    TEXT    NOT NULL UNIQUE,
    subject   TEXT    NOT NULL,
    verdict   TEXT    NOT NULL CHECK (verdict IN ('proven', 'failed', 'unknown')),
    place     TEXT CHECK (json_valid(place)), -- with mechanism and name the recovery point; NULL when the drill did not come so far
    mechanism TEXT,
    name      TEXT,
    began     INTEGER NOT NULL,
    ended     INTEGER NOT NULL,
    taken_in  INTEGER NOT NULL,
    evidence  TEXT    NOT NULL CHECK (json_valid(evidence))
) STRICT;
INSERT INTO "drills" VALUES(2,'abababababababababababababababababababababababababababababababab','pg/home/prod/a','proven','{"kind":"archive","store":"minio","bucket":"dr","prefix":"cnpg/","server":"keycloak-db"}','base-and-wal','20260930T020000',1790769586000,1790769600000,1790769601000,'{"format":1,"run":"01a22e03-f27b-7116-b1e6-f380c44e1fd6","site":"home","subject":"pg/home/prod/a","runbook":"pg-restore","runbook_sha256":"abababababababababababababababababababababababababababababababab","made_by":"0.1.0","began":"2026-09-30T11:59:46Z","ended":"2026-09-30T12:00:00Z","verdict":"proven","reasons":[],"hints":[],"codes":[],"restored":{"place":{"kind":"archive","store":"minio","bucket":"dr","prefix":"cnpg/","server":"keycloak-db"},"name":"20260930T020000","mechanism":"base-and-wal","system_expected":null,"system_restored":null,"segments":131,"postgres":"PostgreSQL 16.4","recovery":null},"isolation_declared":"closed","isolation":"closed","isolation_facts":[],"rpo":{"data_as_of":null,"covered_until":null,"covered_by":null,"seconds":135.0},"rpo_budget_seconds":600.0,"rto_seconds":13.2,"rto_budget_seconds":1800.0,"phases":[],"assertions":[{"name":"users","expected":"at least 10","seen":"12","end":"passed","tells_stale":true,"seconds":0.1}],"steps":[],"left_over":[],"requests":{"class_a":0,"class_b":0,"free":0,"bytes_in":0,"bytes_out":0},"sizes":{}}');
CREATE TABLE findings (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    code        TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    severity    TEXT    NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    first_seen  INTEGER NOT NULL,
    last_seen   INTEGER NOT NULL,
    last_looked INTEGER NOT NULL,
    cleared_at  INTEGER,
    finding     TEXT    NOT NULL CHECK (json_valid(finding))
) STRICT;
INSERT INTO "findings" VALUES(1,'disk','pg/home/prod/a','info',1790769600000,1790769600000,1790769600000,1790769600000,'{"code":"disk","severity":"info","subject":"pg/home/prod/a","summary":"disk was seen","evidence":["a fact"],"cause":"something broke","remedy":"mend it","could_not_look":false}');
INSERT INTO "findings" VALUES(2,'wal-gap','pg/home/prod/a','critical',1790769600000,1790769600000,1790769600000,NULL,'{"code":"wal-gap","severity":"critical","subject":"pg/home/prod/a","summary":"wal-gap was seen","evidence":["a fact"],"cause":"something broke","remedy":"mend it","could_not_look":false}');
CREATE TABLE marks (
    name TEXT PRIMARY KEY, -- 'rolled-until'
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "marks" VALUES('rolled-until',1790773200000);
CREATE TABLE memory (
    provider TEXT PRIMARY KEY,
    at       INTEGER NOT NULL,
    value    TEXT    NOT NULL CHECK (json_valid(value))
) STRICT, WITHOUT ROWID;
INSERT INTO "memory" VALUES('store/minio',1790769600000,'{"last":"x"}');
CREATE TABLE outbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    key          TEXT    NOT NULL UNIQUE, -- the same for every attempt
    channel      TEXT    NOT NULL,
    run          INTEGER NOT NULL REFERENCES runs (number),
    body         TEXT    NOT NULL,
    made_at      INTEGER NOT NULL,
    next_at      INTEGER NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    delivered_at INTEGER,
    gave_up_at   INTEGER,
    last_error   TEXT,
    CHECK (delivered_at IS NULL OR gave_up_at IS NULL)
) STRICT;
INSERT INTO "outbox" VALUES(1,'k','ops',1,'{}',1790769600000,1790769600000,0,NULL,NULL,NULL);
CREATE TABLE recovery_points (
    subject       TEXT    NOT NULL,
    place         TEXT    NOT NULL CHECK (json_valid(place)),
    mechanism     TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    possible_from INTEGER NOT NULL,
    covered_until INTEGER,
    stored_bytes  INTEGER NOT NULL,
    first_seen    INTEGER NOT NULL,
    last_seen     INTEGER NOT NULL,
    gone_at       INTEGER,
    PRIMARY KEY (subject, place, mechanism, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "recovery_points" VALUES('pg/home/prod/a','{"kind":"archive","store":"minio","bucket":"dr","prefix":"cnpg/","server":"keycloak-db"}','base-and-wal','20260930T020000',1790769500000,1790769599000,7,1790769600000,1790769600000,NULL);
CREATE TABLE run_findings (
    run      INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    finding  INTEGER NOT NULL REFERENCES findings (id) ON DELETE CASCADE,
    change   TEXT    NOT NULL CHECK (change IN ('new', 'still', 'not-looked', 'cleared')),
    severity TEXT    NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    PRIMARY KEY (run, finding)
) STRICT, WITHOUT ROWID;
INSERT INTO "run_findings" VALUES(1,1,'new','info');
INSERT INTO "run_findings" VALUES(1,2,'new','critical');
CREATE TABLE run_requests (
    run       INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    store     TEXT    NOT NULL,
    class_a   INTEGER NOT NULL,
    class_b   INTEGER NOT NULL,
    free      INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    PRIMARY KEY (run, store)
) STRICT, WITHOUT ROWID;
INSERT INTO "run_requests" VALUES(1,'minio',1,2,0,9,0);
CREATE TABLE runs (
    number        INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT    NOT NULL UNIQUE,
    kind          TEXT    NOT NULL CHECK (kind IN ('pass', 'drill')),
    state         TEXT    NOT NULL CHECK (state IN ('running', 'done', 'interrupted', 'failed')),
    began         INTEGER NOT NULL,
    ended         INTEGER,
    exit_code     INTEGER,
    host          TEXT    NOT NULL,
    boot          TEXT    NOT NULL,
    pid_namespace TEXT    NOT NULL,
    pid           INTEGER NOT NULL,
    process_start INTEGER NOT NULL,
    CHECK ((state = 'running') = (ended IS NULL))
) STRICT;
INSERT INTO "runs" VALUES(1,'01a22e03-f276-70ad-b02b-f4de45d85750','pass','done',1790769600000,1790769609000,1,'vm','d7bfe7fc-d834-4141-9ced-c7387343f0c7','pid:[4026531836]',31149,215503);
INSERT INTO "runs" VALUES(2,'01a22e03-f27b-7116-b1e6-f380c44e1fd6','drill','done',1790769586000,1790769600000,0,'','','',0,0);
CREATE TABLE samples (
    subject TEXT    NOT NULL,
    metric  TEXT    NOT NULL,
    run     INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    at      INTEGER NOT NULL,
    value   REAL    NOT NULL,
    PRIMARY KEY (subject, metric, run)
) STRICT, WITHOUT ROWID;
INSERT INTO "samples" VALUES('pg/home/prod/a','archive_bytes',1,1790769600000,1.5);
CREATE TABLE samples_hourly (
    subject TEXT    NOT NULL,
    metric  TEXT    NOT NULL,
    hour    INTEGER NOT NULL, -- start of the hour
    count   INTEGER NOT NULL,
    minimum REAL    NOT NULL,
    maximum REAL    NOT NULL,
    mean    REAL    NOT NULL,
    PRIMARY KEY (subject, metric, hour)
) STRICT, WITHOUT ROWID;
INSERT INTO "samples_hourly" VALUES('pg/home/prod/a','archive_bytes',1790769600000,1,1.5,1.5,1.5);
CREATE INDEX runs_by_began ON runs (began);
CREATE INDEX runs_running ON runs (state) WHERE state = 'running';
CREATE INDEX samples_by_time ON samples (at);
CREATE INDEX samples_by_run ON samples (run);
CREATE INDEX samples_hourly_by_time ON samples_hourly (hour);
CREATE UNIQUE INDEX findings_open ON findings (code, subject) WHERE cleared_at IS NULL;
CREATE INDEX run_findings_by_finding ON run_findings (finding);
CREATE INDEX drills_by_subject ON drills (subject, ended);
CREATE INDEX outbox_waiting ON outbox (next_at) WHERE delivered_at IS NULL AND gave_up_at IS NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('runs',2);
INSERT INTO "sqlite_sequence" VALUES('findings',2);
INSERT INTO "sqlite_sequence" VALUES('outbox',1);
COMMIT;
