-- Life of alerts: what people were told of a finding, what they said to it, and why a finding ended.

ALTER TABLE findings ADD COLUMN cleared_why TEXT CHECK (cleared_why IN ('fixed', 'not-configured'));

CREATE TABLE alerts (
    code    TEXT NOT NULL,
    subject TEXT NOT NULL,
    alert   TEXT NOT NULL CHECK (json_valid(alert)),
    PRIMARY KEY (code, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE acks (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    code     TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    severity TEXT    NOT NULL CHECK (severity IN ('info', 'warning', 'critical')), -- when it was acknowledged
    reason   TEXT    NOT NULL,
    author   TEXT    NOT NULL,
    made_at  INTEGER NOT NULL,
    until    INTEGER NOT NULL,
    ended_at INTEGER, -- withdrawn, replaced, or its finding is over
    CHECK (until > made_at)
) STRICT;
CREATE UNIQUE INDEX acks_open ON acks (code, subject) WHERE ended_at IS NULL;

-- A message whose place a newer one has taken: it is not sent any more, and nothing was given up.
ALTER TABLE outbox ADD COLUMN superseded_at INTEGER;
DROP INDEX outbox_waiting;
CREATE INDEX outbox_waiting ON outbox (channel, id) WHERE delivered_at IS NULL AND gave_up_at IS NULL AND superseded_at IS NULL;
