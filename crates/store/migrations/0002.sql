-- A session can be kept in lists, as a job can.

ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_pinned ON sessions (updated_seq) WHERE deleted = 0 AND pinned = 1;
