-- durable
-- What was acknowledged survives loss of power: the log is synced before a commit returns.
PRAGMA synchronous = FULL

-- durable_on_macos
-- Sync through the drive's own cache where the system can tell the two apart.
PRAGMA fullfsync = ON

-- distrust_schema
-- A file that somebody prepared cannot run functions by its views or indexes.
PRAGMA trusted_schema = OFF

-- refuse_writes
-- A connection for reading cannot write by mistake.
PRAGMA query_only = ON

-- may_shrink
-- Let a file that holds nothing yet give pages back later; where it holds something this says nothing and does nothing.
PRAGMA auto_vacuum = INCREMENTAL

-- write_ahead
-- Readers and the writer do not wait for each other; answers `wal`.
PRAGMA journal_mode = WAL

-- application_id
-- Which program's file this is.
PRAGMA application_id

-- layout
-- Which step of schema/ the tables have reached; 0 is none.
PRAGMA user_version

-- tables
-- How many tables there are at all.
SELECT count(*)
FROM sqlite_schema

-- data_version
-- A number that changes when another connection, of any process, has committed.
PRAGMA data_version

-- begin_write
-- Take the write lock before anything is read.
BEGIN IMMEDIATE

-- begin_read
-- Let the statements that follow read one state.
BEGIN

-- commit
-- End the transaction and keep it.
COMMIT

-- rollback
-- End the transaction and forget it.
ROLLBACK

-- insert_head
-- Found a ledger.
INSERT INTO head (singleton, store_id, realm, incarnation, revision, hash, at, schema, state, note, needs)
VALUES (1, :store_id, :realm, :incarnation, 0, :hash, 0, :schema, :state, :note, :needs)
