-- The first schema of the ledger. Append-only: a released file is never changed, a new need is a new file.
-- Times are epoch milliseconds (INTEGER). JSON is TEXT as serde writes the noun of the domain.
PRAGMA application_id = 1684108135; -- 0x64617367, "dasg": tells our file from somebody else's

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
CREATE INDEX runs_by_began ON runs (began);
CREATE INDEX runs_running ON runs (state) WHERE state = 'running';

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

CREATE TABLE budgets (
    store   TEXT    NOT NULL,
    day     INTEGER NOT NULL, -- midnight UTC
    class_a INTEGER NOT NULL,
    class_b INTEGER NOT NULL,
    free    INTEGER NOT NULL,
    PRIMARY KEY (store, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE samples (
    subject TEXT    NOT NULL,
    metric  TEXT    NOT NULL,
    run     INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    at      INTEGER NOT NULL,
    value   REAL    NOT NULL,
    PRIMARY KEY (subject, metric, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX samples_by_time ON samples (at);
CREATE INDEX samples_by_run ON samples (run);

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
CREATE INDEX samples_hourly_by_time ON samples_hourly (hour);

CREATE TABLE marks (
    name TEXT PRIMARY KEY, -- 'rolled-until'
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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
CREATE UNIQUE INDEX findings_open ON findings (code, subject) WHERE cleared_at IS NULL;

CREATE TABLE run_findings (
    run      INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    finding  INTEGER NOT NULL REFERENCES findings (id) ON DELETE CASCADE,
    change   TEXT    NOT NULL CHECK (change IN ('new', 'still', 'not-looked', 'cleared')),
    severity TEXT    NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    PRIMARY KEY (run, finding)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_findings_by_finding ON run_findings (finding);

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
CREATE INDEX drills_by_subject ON drills (subject, ended);

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
CREATE INDEX outbox_waiting ON outbox (next_at) WHERE delivered_at IS NULL AND gave_up_at IS NULL;

CREATE TABLE memory (
    provider TEXT PRIMARY KEY,
    at       INTEGER NOT NULL,
    value    TEXT    NOT NULL CHECK (json_valid(value))
) STRICT, WITHOUT ROWID;
