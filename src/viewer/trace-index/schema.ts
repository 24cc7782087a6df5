import type { Database } from './database.ts'

/**
 * Raise it if a table or its content changes, including through changes in `viewer`. An index of another version is another file.
 */
export const SCHEMA_VERSION = 3

/** Offsets per segment, more than any segment has. Segment ids are never reused, so a place identifies one span forever. */
const PLACES_OF_SEGMENT: number = 2 ** 34

/**
 * The place of a span: a number made of the segment id, the offset of its line and its index in the line. A span is longer than
 * one byte, so the places of the next line are greater. It is the row id of the span and of its words.
 */
export function placeOf(segment: number, offset: number, nth = 0): number {
  return segment * PLACES_OF_SEGMENT + offset + nth
}

export function segmentOfPlace(place: number): number {
  return Math.floor(place / PLACES_OF_SEGMENT)
}

export function offsetOfPlace(place: number): number {
  return place % PLACES_OF_SEGMENT
}

export const MAX_BYTES: number = PLACES_OF_SEGMENT - 2 ** 28

/**
 * - `segment`: spans from `low` to `high` are indexed, words from `text_low` to `text_high`. `tail` is a hash of the bytes before
 *   `high`, to recognise the file.
 * - `kept`: texts that spans share (`kept-span.ts`).
 * - `span`: one row per occurrence of a span in the log, running or ended; never its text.
 * - `words`: the words of each of those rows, as FTS5 without content and positions.
 * - `trace`, `session`: the sums of a trace, and of the traces of a session.
 * - `used`: names by which traces are found.
 * - `figure`: sums by day, kind, agent, name, outcome and duration, of whole traces.
 *
 * Figures from spans are REAL, even integers: a sum of integers may be too large for SQLite or for JavaScript.
 */
const TABLES = `
CREATE TABLE segment (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, low INTEGER NOT NULL, high INTEGER NOT NULL,
  text_low INTEGER NOT NULL, text_high INTEGER NOT NULL, tail TEXT NOT NULL, unreadable INTEGER NOT NULL);
CREATE TABLE kept (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE span (place INTEGER PRIMARY KEY, nth INTEGER NOT NULL, length INTEGER NOT NULL, trace INTEGER NOT NULL,
  span_id TEXT NOT NULL, parent_id TEXT, start_at REAL NOT NULL, end_at REAL NOT NULL, flags INTEGER NOT NULL,
  kept INTEGER NOT NULL, named INTEGER NOT NULL, rest TEXT);
CREATE INDEX span_trace ON span (trace);
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1, detail = none,
  tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
CREATE TABLE trace (id INTEGER PRIMARY KEY, trace_id TEXT NOT NULL UNIQUE, session INTEGER, revision INTEGER NOT NULL DEFAULT 0,
  namespace TEXT, agent TEXT, model TEXT, turn REAL, background INTEGER, start_at REAL, last_at REAL, duration REAL,
  outcome TEXT, tone TEXT, has_tokens INTEGER, input REAL, output REAL, subagent REAL, auxiliary REAL, cached REAL,
  nanodollars REAL, paid INTEGER, unpaid INTEGER, spans INTEGER, errors INTEGER, running INTEGER, requests INTEGER,
  tools INTEGER, waited REAL, root INTEGER);
CREATE INDEX trace_session ON trace (session, start_at);
CREATE INDEX trace_revision ON trace (revision);
CREATE INDEX trace_running ON trace (last_at) WHERE running > 0;
CREATE TABLE session (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, start_at REAL, last_at REAL, turns INTEGER,
  spans INTEGER, errors INTEGER, running INTEGER, has_tokens INTEGER, input REAL, output REAL, cached REAL,
  nanodollars REAL, paid INTEGER, unpaid INTEGER, waited REAL, last_trace INTEGER);
CREATE INDEX session_last ON session (last_at, key);
CREATE TABLE used (kind TEXT NOT NULL, name TEXT NOT NULL, trace INTEGER NOT NULL, PRIMARY KEY (kind, name, trace)) WITHOUT ROWID;
CREATE TABLE figure (day INTEGER NOT NULL, kind TEXT NOT NULL, agent TEXT NOT NULL, name TEXT NOT NULL, outcome TEXT NOT NULL,
  bucket INTEGER NOT NULL, count INTEGER NOT NULL, failed INTEGER NOT NULL, input REAL NOT NULL, output REAL NOT NULL,
  cached REAL NOT NULL, nanodollars REAL NOT NULL, PRIMARY KEY (day, kind, agent, name, outcome, bucket)) WITHOUT ROWID;
CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO state VALUES ('revision', 0);
PRAGMA user_version = ${SCHEMA_VERSION};
`

/** Creates the tables if there are none. @throws SQLite's error, or an error if the index has another version */
export function prepareTables(database: Database): void {
  const version = versionOf(database)
  if (version === SCHEMA_VERSION) return
  if (version !== 0) throw new Error(`an index of version ${version}`)
  inTransaction(database, () => database.exec(TABLES))
}

export function versionOf(database: Database): number {
  return database.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0
}

function inTransaction(database: Database, work: () => void): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    work()
    database.exec('COMMIT')
  } catch (error) {
    takeBack(database)
    throw error
  }
}

/** After some errors, for example a full disk, SQLite has already rolled back. */
export function takeBack(database: Database): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // The original error is more useful than this one.
  }
}
