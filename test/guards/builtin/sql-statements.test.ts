import { describe, expect, it } from 'vitest'
import { statementsOf } from '../../../src/guards/builtin/sql-statements.ts'
import { SAMPLED, sample } from '../../support/sample.ts'

function shown(sql: string): string {
  return statementsOf(sql)
    .map(({ verb, isUnknown }) => `${verb}${isUnknown ? '?' : ''}`)
    .join(' ')
}

describe('the effect of a statement', () => {
  it.each([
    ['', ''],
    [' ;; \n ; ', ''],
    ['select 1', 'SELECT'],
    ['SELECT 1; drop table x;', 'SELECT DROP'],
    ['(SELECT 1) UNION (SELECT 2)', 'SELECT'],
    ['/* a */ -- b\n DELETE FROM x', 'DELETE'],
    ['Insert Into x Values (1) On Conflict Do Update Set a = 1', 'INSERT'],
    ['INSERT INTO x VALUES (1) ON DUPLICATE KEY UPDATE a = 1', 'INSERT'],
    ['INSERT INTO x SELECT * FROM y', 'INSERT'],
    ['SELECT * FROM x FOR UPDATE', 'SELECT'],
    ['SELECT t.update, a AS delete FROM t', 'SELECT'],
    ['CREATE TABLE x (y int REFERENCES z ON DELETE CASCADE)', 'CREATE'],
    ['ALTER TABLE x DROP COLUMN y', 'ALTER'],
    ['GRANT INSERT, UPDATE ON x TO y', 'GRANT'],
    ['BEGIN; UPDATE x SET y = 1; COMMIT', 'BEGIN UPDATE COMMIT'],
    ['BEGIN TRANSACTION; ROLLBACK', 'BEGIN ROLLBACK'],
    ['PRAGMA table_info(x)', 'PRAGMA'],
    ['TRUNCATE x', 'TRUNCATE'],
    ['MERGE INTO x USING y ON a WHEN MATCHED THEN UPDATE SET b = 1', 'MERGE'],
    ['WITH a AS (SELECT 1), b (c) AS (SELECT 2) DELETE FROM x', 'DELETE'],
    ['WITH RECURSIVE a AS (SELECT 1) SELECT * FROM a', 'SELECT'],
    ['WITH a AS (DELETE FROM x RETURNING *) SELECT * FROM a', 'DELETE SELECT'],
    ['WITH a AS MATERIALIZED (SELECT (1)) INSERT INTO x TABLE a', 'INSERT'],
  ])('is known: %j: %s', (sql, verbs) => {
    expect(shown(sql)).toBe(verbs)
  })
})

describe('quoted or commented text', () => {
  it.each([
    ["SELECT '; DROP TABLE x'", 'SELECT'],
    ["SELECT 'it''s; DROP TABLE x'", 'SELECT'],
    ["SELECT ''; SELECT ''''", 'SELECT SELECT'],
    ['SELECT "a; DROP "" b"', 'SELECT'],
    ['SELECT `a; DROP `` b`', 'SELECT'],
    ['SELECT [a DROP b] FROM x', 'SELECT'],
    ['SELECT a[1] FROM x', 'SELECT'],
    ['SELECT $$; DROP TABLE x; $$', 'SELECT'],
    ["SELECT $a$ ' $$ ; DROP $b$ $a$; SELECT $1", 'SELECT SELECT'],
    ["SELECT 'a\\\\'; DELETE FROM x", 'SELECT DELETE'],
    ['SELECT 1 -- ; DROP TABLE x', 'SELECT'],
    ['SELECT 1 -- it is\r; DELETE FROM x', 'SELECT DELETE'],
    ['SELECT 1 # a comment\n; DELETE FROM x', 'SELECT DELETE'],
    ['SELECT 1 --comment\n; DELETE FROM x', 'SELECT DELETE'],
    ["SELECT 1 /* ; DROP ' TABLE x */ ; DELETE FROM x", 'SELECT DELETE'],
    ['SELECT /*+ hint */ 1', 'SELECT'],
    ['SELECT 1 / 2 * 3 - 4', 'SELECT'],
  ])('has no effect: %j: %s', (sql, verbs) => {
    expect(shown(sql)).toBe(verbs)
  })
})

describe('syntax that differs between databases', () => {
  it.each([
    ["SELECT 'a", 'SELECT?'],
    ['SELECT "a; DROP TABLE x', 'SELECT?'],
    ['SELECT `a', 'SELECT?'],
    ['SELECT [a', 'SELECT?'],
    ['SELECT $a$ ', 'SELECT?'],
    ['SELECT 1 /* a', 'SELECT?'],
    ["SELECT '\\'; DROP TABLE x; -- '", 'SELECT? DROP'],
    ["SELECT 'a\\' OR 1'", 'SELECT?'],
    ["SELECT ['; DROP TABLE x; --']", 'SELECT?'],
    ['SELECT /*! 1; DROP TABLE x */ 1', 'SELECT?'],
    ['/*!50000 DROP TABLE x */', '?'],
    ['/*M!100 DROP TABLE x */', '?'],
    ['SELECT 1 /* /* */ DROP TABLE x */', 'SELECT?'],
    ["SELECT a #> '{b}'; DROP TABLE x", 'SELECT?'],
    ['SELECT 5--1; DROP TABLE x', 'SELECT?'],
    ["SELECT q'[it's; DROP TABLE x]'", 'SELECT? DROP?'],
    ['SELECT 1 DROP TABLE x', 'SELECT?'],
    ['UPDATE x SET a = 1 DELETE FROM y', 'UPDATE?'],
    ['CREATE TABLE x (a int) DROP TABLE y', 'CREATE?'],
    ['EXPLAIN ANALYZE DELETE FROM x', 'EXPLAIN?'],
    ['SELECT * INTO y FROM x', 'SELECT?'],
    ["SELECT 1 INTO OUTFILE '/x'", 'SELECT?'],
    ["COPY x TO PROGRAM 'rm'", 'COPY?'],
    ['BEGIN DROP TABLE x; END', 'BEGIN? END'],
    ['DO $$ BEGIN DROP TABLE x; END $$', 'DO?'],
    ["EXEC('DROP TABLE x')", 'EXEC?'],
    ["PREPARE a FROM 'DROP TABLE x'", 'PREPARE?'],
    ['CALL x()', 'CALL?'],
    ["xp_cmdshell 'rm'", 'XP_CMDSHELL?'],
    ['IF 1 = 1 DROP TABLE x', 'IF?'],
    ['DELIMITER // DROP TABLE x //', 'DELIMITER?'],
    ['\\! rm x', 'RM?'],
    ['SELECT 1 \\gexec', 'SELECT?'],
    ['.shell rm x', 'SHELL?'],
    ["'a'", '?'],
    ['WITH a AS (SELECT 1)', '?'],
    ['SELECT 1\0; DROP TABLE x', 'SELECT? DROP'],
  ])('counts with every reading: %j: %s', (sql, verbs) => {
    expect(shown(sql)).toBe(verbs)
  })
})

describe('a hostile text', () => {
  const SEEDS = [
    ...["'", '"', '`', '[', '(', '/*', '*/', '--', '#', '$', '$a', '$$', ';', "'\\", '\\', "''", '--\n', '#;\n', 'a '],
    ...['WITH a AS (', 'q', "q'", 'SELECT ', '\u00e4', '[;]', '/* */', '@', '/*!', "\\'", '1'],
  ]

  const expectRead = (seed: string, length: number): void => {
    const text = seed.repeat(Math.floor(length / seed.length))
    const closed = `${text}\n*/ ' " \` ] $$ ; \n;`
    expect(statementsOf(`DROP TABLE x;${text}`)[0]).toEqual({ verb: 'DROP', isUnknown: false })
    expect(Array.isArray(statementsOf(closed))).toBe(true)
  }

  it.each(SEEDS)('is read to its end: %j, tens of thousands of it', seed => expectRead(seed, 60_000))

  it.each(sample(SEEDS, 4))(`is read to its end: %j, hundreds of thousands of it, ${SAMPLED}`, seed =>
    expectRead(seed, 300_000),
  )

  it('reads a statement after a long quoted text', () => {
    expect(shown(`SELECT '${'x'.repeat(1_000_000)}'; DROP TABLE x`)).toBe('SELECT DROP')
  })
})
