//! Every SQL statement of ours, in one place, so that a test can run each against a migrated database.

/// Declares statements as constants and lists them, so that none can be forgotten.
macro_rules! statements {
    ($($name:ident = $sql:expr;)*) => {
        $(pub(super) const $name: &str = $sql;)*
        /// All statements with their names.
        pub(super) const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

statements! {
    // opening
    TABLES = "SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table'";
    APPLICATION_ID = "SELECT application_id FROM pragma_application_id";
    HAS_MIGRATIONS = "SELECT count(*) AS n FROM sqlite_schema WHERE name = '_sqlx_migrations'";
    SCHEMA_VERSION = "SELECT coalesce(max(version), 0) AS version FROM _sqlx_migrations";
    QUICK_CHECK = "SELECT quick_check AS said FROM pragma_quick_check LIMIT 5";
    COPY_INTO = "VACUUM INTO ?1";
    INTEGRITY_CHECK = "SELECT integrity_check AS said FROM pragma_integrity_check LIMIT 50";
    FOREIGN_KEY_CHECK = "SELECT \"table\" AS child, parent FROM pragma_foreign_key_check LIMIT 50";

    // runs; a clock that was set back never makes a run end before it began
    RUN_BEGIN = "INSERT INTO runs (id, kind, state, began, host, boot, pid_namespace, pid, process_start) \
                 VALUES (?1, ?2, 'running', ?3, ?4, ?5, ?6, ?7, ?8)";
    RUN_END = "UPDATE runs SET state = ?2, ended = max(began, ?3), exit_code = ?4 WHERE id = ?1 AND state = 'running'";
    RUN_NUMBER = "SELECT number FROM runs WHERE id = ?1";
    RUNS_RUNNING = "SELECT number, id, boot, pid_namespace, pid, process_start FROM runs WHERE state = 'running'";
    RUN_INTERRUPTED = "UPDATE runs SET state = 'interrupted', ended = max(began, ?2) WHERE number = ?1 AND state = 'running'";
    RUN_TAKEN_IN = "INSERT INTO runs (id, kind, state, began, ended, exit_code, host, boot, pid_namespace, pid, process_start) \
                    VALUES (?1, 'drill', 'done', ?2, ?3, ?4, ?5, '', '', 0, 0) \
                    ON CONFLICT (id) DO UPDATE SET state = 'done', ended = max(runs.began, excluded.ended), exit_code = excluded.exit_code \
                    WHERE runs.state IN ('running', 'interrupted', 'failed')";
    RUNS_HISTORY = "SELECT r.number, r.id, r.kind, r.state, r.began, r.ended, r.exit_code, r.host, d.verdict, d.subject, \
                    (SELECT count(*) FROM run_findings f WHERE f.run = r.number AND f.change = 'new') AS new, \
                    (SELECT count(*) FROM run_findings f WHERE f.run = r.number AND f.change IN ('still', 'not-looked')) AS still, \
                    (SELECT count(*) FROM run_findings f WHERE f.run = r.number AND f.change = 'cleared') AS cleared, \
                    (SELECT coalesce(sum(q.class_a + q.class_b + q.free), 0) FROM run_requests q WHERE q.run = r.number) AS requests \
                    FROM runs r LEFT JOIN drills d ON d.run = r.number \
                    WHERE (?1 IS NULL OR r.kind = ?1) AND (?2 IS NULL OR r.state = ?2) AND (?3 IS NULL OR r.began >= ?3) \
                    AND (?4 IS NULL OR d.subject = ?4 OR substr(d.subject, -length(?4) - 1) = '/' || ?4 \
                    OR EXISTS (SELECT 1 FROM run_findings m JOIN findings n ON n.id = m.finding WHERE m.run = r.number \
                    AND (n.subject = ?4 OR substr(n.subject, -length(?4) - 1) = '/' || ?4))) \
                    AND (?5 IS NULL OR r.number = ?5) \
                    ORDER BY r.number DESC LIMIT ?6";
    RUN_FIND = "SELECT number FROM runs WHERE id = ?1 OR number = ?2 \
                OR (length(?1) >= 4 AND substr(replace(id, '-', ''), -length(?1)) = ?1) ORDER BY number DESC LIMIT 2";
    RUN_REQUESTS = "SELECT store, class_a, class_b, free, bytes_in, bytes_out FROM run_requests WHERE run = ?1 ORDER BY store";
    RUN_FINDINGS = "SELECT f.finding, f.first_seen, f.cleared_at, r.change, r.severity FROM run_findings r \
                    JOIN findings f ON f.id = r.finding WHERE r.run = ?1 ORDER BY f.id";
    RUN_SAMPLES = "SELECT subject, metric, at, value FROM samples WHERE run = ?1 ORDER BY subject, metric";
    RUN_EVIDENCE = "SELECT evidence, sha256 FROM drills WHERE run = ?1";
    RUNS_PRUNE = "DELETE FROM runs WHERE kind = 'pass' AND state <> 'running' AND began < ?1 \
                  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run = runs.number)";

    // requests and budgets
    REQUESTS_ADD = "INSERT INTO run_requests (run, store, class_a, class_b, free, bytes_in, bytes_out) \
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (run, store) DO UPDATE SET \
                    class_a = class_a + excluded.class_a, class_b = class_b + excluded.class_b, free = free + excluded.free, \
                    bytes_in = bytes_in + excluded.bytes_in, bytes_out = bytes_out + excluded.bytes_out";
    BUDGET_ADD = "INSERT INTO budgets (store, day, class_a, class_b, free) VALUES (?1, ?2, ?3, ?4, ?5) \
                  ON CONFLICT (store, day) DO UPDATE SET class_a = class_a + excluded.class_a, \
                  class_b = class_b + excluded.class_b, free = free + excluded.free";
    BUDGET_OF = "SELECT class_a, class_b, free FROM budgets WHERE store = ?1 AND day = ?2";
    BUDGETS_PRUNE = "DELETE FROM budgets WHERE day < ?1";

    // samples
    SAMPLE_PUT = "INSERT INTO samples (subject, metric, run, at, value) VALUES (?1, ?2, ?3, ?4, ?5) \
                  ON CONFLICT (subject, metric, run) DO UPDATE SET at = excluded.at, value = excluded.value";
    SAMPLES_RAW = "SELECT at, value FROM samples WHERE subject = ?1 AND metric = ?2 AND at >= ?3 AND at < ?4 ORDER BY at";
    SAMPLES_LATEST = "SELECT subject, metric, value, max(at) AS at FROM samples WHERE at >= ?1 GROUP BY subject, metric \
                      ORDER BY subject, metric";
    SAMPLES_HOURLY = "SELECT hour, count, minimum, maximum, mean FROM samples_hourly \
                      WHERE subject = ?1 AND metric = ?2 AND hour >= ?3 AND hour < ?4 ORDER BY hour";
    SAMPLES_ROLL = "INSERT INTO samples_hourly (subject, metric, hour, count, minimum, maximum, mean) \
                    SELECT subject, metric, at - at % 3600000 AS hour, count(*), min(value), max(value), avg(value) FROM samples \
                    WHERE at >= ?1 AND at < ?2 GROUP BY subject, metric, at - at % 3600000 \
                    ON CONFLICT (subject, metric, hour) DO UPDATE SET count = excluded.count, minimum = excluded.minimum, \
                    maximum = excluded.maximum, mean = excluded.mean";
    SAMPLES_PRUNE = "DELETE FROM samples WHERE at < ?1";
    SAMPLES_COUNT = "SELECT count(*) AS n FROM samples";
    SAMPLES_CUT_AT = "SELECT at FROM samples ORDER BY at DESC LIMIT 1 OFFSET ?1";
    SAMPLES_HOURLY_PRUNE = "DELETE FROM samples_hourly WHERE hour < ?1";
    MARK_GET = "SELECT at FROM marks WHERE name = ?1";
    MARK_SET = "INSERT INTO marks (name, at) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET at = excluded.at";
    MARK_LOWER = "UPDATE marks SET at = min(at, ?2) WHERE name = ?1";

    // findings
    FINDINGS_OPEN = "SELECT id, severity, first_seen, last_seen, last_looked, finding FROM findings \
                     WHERE cleared_at IS NULL ORDER BY id";
    FINDING_NEW = "INSERT INTO findings (code, subject, severity, first_seen, last_seen, last_looked, finding) \
                   VALUES (?1, ?2, ?3, ?4, ?4, ?4, ?5) RETURNING id";
    FINDING_STILL = "UPDATE findings SET severity = ?2, last_seen = max(first_seen, ?3), last_looked = ?3, finding = ?4 WHERE id = ?1";
    FINDING_CLEARED = "UPDATE findings SET cleared_at = ?2, last_looked = ?2, cleared_why = ?3 WHERE id = ?1";
    RUN_FINDING_PUT = "INSERT INTO run_findings (run, finding, change, severity) VALUES (?1, ?2, ?3, ?4) \
                       ON CONFLICT (run, finding) DO UPDATE SET \
                       change = CASE run_findings.change WHEN 'new' THEN 'new' ELSE excluded.change END, severity = excluded.severity";
    RUN_FINDINGS_PRUNE = "DELETE FROM run_findings WHERE change IN ('still', 'not-looked') \
                          AND run IN (SELECT number FROM runs WHERE began < ?1)";
    FINDINGS_PRUNE = "DELETE FROM findings WHERE cleared_at < ?1";

    // alerts and acknowledgements
    ALERTS = "SELECT alert FROM alerts ORDER BY code, subject";
    ALERT_PUT = "INSERT INTO alerts (code, subject, alert) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (code, subject) DO UPDATE SET alert = excluded.alert WHERE alerts.alert <> excluded.alert";
    ALERT_FORGET = "DELETE FROM alerts WHERE code = ?1 AND subject = ?2";
    ACKS_OPEN = "SELECT code, subject, severity, reason, author, made_at, until FROM acks WHERE ended_at IS NULL ORDER BY id";
    ACKS_ALL = "SELECT code, subject, severity, reason, author, made_at, until, ended_at FROM acks ORDER BY id DESC LIMIT ?1";
    ACK_PUT = "INSERT INTO acks (code, subject, severity, reason, author, made_at, until) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    ACK_END = "UPDATE acks SET ended_at = max(made_at, ?3) WHERE code = ?1 AND subject = ?2 AND ended_at IS NULL";
    ACKS_PRUNE = "DELETE FROM acks WHERE ended_at < ?1";

    // recovery points
    POINT_PUT = "INSERT INTO recovery_points (subject, place, mechanism, name, possible_from, \
                 covered_until, stored_bytes, first_seen, last_seen) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) \
                 ON CONFLICT (subject, place, mechanism, name) DO UPDATE SET \
                 possible_from = excluded.possible_from, covered_until = excluded.covered_until, \
                 stored_bytes = excluded.stored_bytes, last_seen = excluded.last_seen, gone_at = NULL";
    POINTS_GONE = "UPDATE recovery_points SET gone_at = ?3 WHERE subject = ?1 AND place = ?2 AND last_seen < ?3 AND gone_at IS NULL";
    POINTS = "SELECT subject, place, mechanism, name, possible_from, covered_until, stored_bytes, \
              first_seen, last_seen FROM recovery_points WHERE gone_at IS NULL ORDER BY subject, place, possible_from";
    POINTS_PRUNE = "DELETE FROM recovery_points WHERE gone_at < ?1";

    // drills
    DRILL_BY_RUN = "SELECT d.sha256 FROM drills d JOIN runs r ON r.number = d.run WHERE r.id = ?1";
    DRILL_PUT = "INSERT INTO drills (run, sha256, subject, verdict, place, mechanism, name, began, ended, \
                 taken_in, evidence) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    DRILLS_LAST = "SELECT evidence FROM drills d WHERE ended = (SELECT max(ended) FROM drills e WHERE e.subject = d.subject) \
                   ORDER BY subject, run";
    DRILLS_PROVEN = "SELECT evidence FROM drills WHERE subject = ?1 AND (?2 IS NULL OR place = ?2) AND verdict = 'proven' \
                     ORDER BY ended DESC";
    DRILL_LAST_FAILED = "SELECT evidence FROM drills WHERE subject = ?1 AND (?2 IS NULL OR place IS NULL OR place = ?2) \
                         AND verdict = 'failed' ORDER BY ended DESC LIMIT 1";

    // outbox
    OUTBOX_PUT = "INSERT INTO outbox (key, channel, run, body, made_at, next_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5) \
                  ON CONFLICT (key) DO NOTHING";
    // Of a channel, nothing goes before what waits longer: one that waits for its next attempt holds the others back.
    OUTBOX_CLAIM = "UPDATE outbox SET next_at = ?2, attempts = attempts + 1 WHERE id IN (SELECT o.id FROM outbox o \
                    WHERE o.delivered_at IS NULL AND o.gave_up_at IS NULL AND o.superseded_at IS NULL AND o.next_at <= ?1 \
                    AND NOT EXISTS (SELECT 1 FROM outbox p WHERE p.channel = o.channel AND p.id < o.id AND p.delivered_at IS NULL \
                    AND p.gave_up_at IS NULL AND p.superseded_at IS NULL AND p.next_at > ?1) ORDER BY o.id LIMIT ?3) \
                    RETURNING id, key, channel, body, made_at, attempts";
    OUTBOX_DELIVERED = "UPDATE outbox SET delivered_at = ?2, last_error = NULL WHERE id = ?1 AND gave_up_at IS NULL";
    OUTBOX_LATER = "UPDATE outbox SET next_at = ?2, last_error = ?3 WHERE id = ?1 AND delivered_at IS NULL AND gave_up_at IS NULL";
    OUTBOX_BACK = "UPDATE outbox SET next_at = ?2, attempts = max(0, attempts - 1) WHERE id = ?1 AND delivered_at IS NULL \
                   AND gave_up_at IS NULL";
    OUTBOX_GIVEN_UP = "UPDATE outbox SET gave_up_at = ?2, last_error = ?3 WHERE id = ?1 AND delivered_at IS NULL";
    OUTBOX_SUPERSEDE = "UPDATE outbox SET superseded_at = ?3 WHERE channel = ?1 AND key <> ?2 AND delivered_at IS NULL \
                        AND gave_up_at IS NULL AND superseded_at IS NULL";
    OUTBOX_FAILING = "SELECT o.channel, count(*) AS n, coalesce((SELECT min(f.made_at) FROM outbox f WHERE f.channel = o.channel \
                      AND f.delivered_at IS NULL AND f.made_at > coalesce((SELECT max(d.delivered_at) FROM outbox d \
                      WHERE d.channel = o.channel), 0)), min(o.made_at)) AS oldest, max(o.attempts) AS attempts, \
                      max(o.last_error) AS last_error FROM outbox o WHERE o.delivered_at IS NULL AND o.gave_up_at IS NULL \
                      AND o.superseded_at IS NULL GROUP BY o.channel HAVING max(o.attempts) > 0 ORDER BY o.channel";
    OUTBOX_UNDELIVERED = "SELECT channel, gave_up_at, coalesce(last_error, '') AS why FROM outbox o WHERE id = \
                          (SELECT max(id) FROM outbox g WHERE g.channel = o.channel AND g.gave_up_at IS NOT NULL) AND NOT EXISTS \
                          (SELECT 1 FROM outbox d WHERE d.channel = o.channel AND d.delivered_at > o.gave_up_at) ORDER BY channel";
    OUTBOX_CHANNELS = "SELECT channel, max(delivered_at) AS delivered, sum(CASE WHEN delivered_at IS NULL AND gave_up_at IS NULL \
                       AND superseded_at IS NULL THEN 1 ELSE 0 END) AS n FROM outbox GROUP BY channel ORDER BY channel";
    OUTBOX_PRUNE = "DELETE FROM outbox WHERE delivered_at < ?1 OR superseded_at < ?1";
    OUTBOX_PRUNE_GIVEN_UP = "DELETE FROM outbox WHERE gave_up_at < ?1";

    // memory
    MEMORY_GET = "SELECT value FROM memory WHERE provider = ?1";
    MEMORY_PUT = "INSERT INTO memory (provider, at, value) VALUES (?1, ?2, ?3) \
                  ON CONFLICT (provider) DO UPDATE SET at = excluded.at, value = excluded.value";

    // verify: each answers one row per broken rule, with a text
    VERIFY_TWO_OPEN = "SELECT 'two open findings of ' || code || ' on ' || subject AS said FROM findings \
                       WHERE cleared_at IS NULL GROUP BY code, subject HAVING count(*) > 1";
    VERIFY_FINDING_KEY = "SELECT 'finding ' || id || ' says ' || code || ' on ' || subject || ', its text says ' || \
                          coalesce(json_extract(finding, '$.code'), '?') || ' on ' || coalesce(json_extract(finding, '$.subject'), '?') \
                          AS said FROM findings WHERE json_extract(finding, '$.code') IS NOT code \
                          OR json_extract(finding, '$.subject') IS NOT subject";
    VERIFY_FINDING_ORDER = "SELECT 'finding ' || id || ' was last seen before it was first seen' AS said FROM findings \
                            WHERE last_seen < first_seen";
    VERIFY_RUN_ORDER = "SELECT 'run ' || number || ' ended before it began' AS said FROM runs WHERE ended < began";
    VERIFY_DRILL = "SELECT 'drill of run ' || d.run || ' is ' || d.verdict || ', its evidence says ' || \
                    coalesce(json_extract(d.evidence, '$.verdict'), '?') AS said FROM drills d JOIN runs r ON r.number = d.run \
                    WHERE json_extract(d.evidence, '$.verdict') IS NOT d.verdict OR json_extract(d.evidence, '$.run') IS NOT r.id";
    VERIFY_DRILL_KIND = "SELECT 'run ' || r.number || ' has drill evidence and is a ' || r.kind AS said FROM drills d \
                         JOIN runs r ON r.number = d.run WHERE r.kind <> 'drill'";

    VERIFY_ALERT_KEY = "SELECT 'the alert of ' || code || ' on ' || subject || ' holds another finding' AS said FROM alerts \
                        WHERE json_extract(alert, '$.finding.code') IS NOT code OR json_extract(alert, '$.finding.subject') IS NOT subject";

    TEXTS_FINDINGS = "SELECT id, finding AS text FROM findings ORDER BY id";
    TEXTS_EVIDENCE = "SELECT run AS id, evidence AS text FROM drills ORDER BY run";

    // export: one JSON object per row
    EXPORT_RUNS = "SELECT json_object('table', 'runs', 'number', number, 'id', id, 'kind', kind, 'state', state, 'began', began, \
                   'ended', ended, 'exit_code', exit_code, 'host', host) AS line FROM runs ORDER BY number";
    EXPORT_REQUESTS = "SELECT json_object('table', 'run_requests', 'run', run, 'store', store, 'class_a', class_a, 'class_b', class_b, \
                       'free', free, 'bytes_in', bytes_in, 'bytes_out', bytes_out) AS line FROM run_requests ORDER BY run, store";
    EXPORT_BUDGETS = "SELECT json_object('table', 'budgets', 'store', store, 'day', day, 'class_a', class_a, 'class_b', class_b, \
                      'free', free) AS line FROM budgets ORDER BY store, day";
    EXPORT_SAMPLES = "SELECT json_object('table', 'samples', 'subject', subject, 'metric', metric, 'run', run, 'at', at, \
                      'value', value) AS line FROM samples ORDER BY subject, metric, run";
    EXPORT_HOURLY = "SELECT json_object('table', 'samples_hourly', 'subject', subject, 'metric', metric, 'hour', hour, 'count', count, \
                     'minimum', minimum, 'maximum', maximum, 'mean', mean) AS line FROM samples_hourly ORDER BY subject, metric, hour";
    EXPORT_FINDINGS = "SELECT json_object('table', 'findings', 'id', id, 'first_seen', first_seen, 'last_seen', last_seen, \
                       'last_looked', last_looked, 'cleared_at', cleared_at, 'cleared_why', cleared_why, 'finding', json(finding)) AS line FROM findings ORDER BY id";
    EXPORT_RUN_FINDINGS = "SELECT json_object('table', 'run_findings', 'run', run, 'finding', finding, 'change', change, \
                           'severity', severity) AS line FROM run_findings ORDER BY run, finding";
    EXPORT_POINTS = "SELECT json_object('table', 'recovery_points', 'subject', subject, 'place', json(place), 'mechanism', mechanism, 'name', name, 'from', possible_from, \
                     'covered_until', covered_until, 'stored_bytes', stored_bytes, 'first_seen', first_seen, 'last_seen', last_seen, \
                     'gone_at', gone_at) AS line FROM recovery_points ORDER BY subject, place, name";
    EXPORT_DRILLS = "SELECT json_object('table', 'drills', 'run', run, 'sha256', sha256, 'taken_in', taken_in, \
                     'evidence', json(evidence)) AS line FROM drills ORDER BY run";
    EXPORT_OUTBOX = "SELECT json_object('table', 'outbox', 'id', id, 'key', key, 'channel', channel, 'run', run, 'made_at', made_at, \
                     'attempts', attempts, 'delivered_at', delivered_at, 'gave_up_at', gave_up_at, 'superseded_at', superseded_at, 'last_error', last_error) AS line \
                     FROM outbox ORDER BY id";
    EXPORT_ALERTS = "SELECT json_object('table', 'alerts', 'alert', json(alert)) AS line FROM alerts ORDER BY code, subject";
    EXPORT_ACKS = "SELECT json_object('table', 'acks', 'id', id, 'code', code, 'subject', subject, 'severity', severity, \
                   'reason', reason, 'author', author, 'made_at', made_at, 'until', until, 'ended_at', ended_at) AS line \
                   FROM acks ORDER BY id";
}
