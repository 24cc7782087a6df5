import { type SqlToken, SqlTokens } from './sql-tokens.ts'

export interface SqlStatement {
  /**
   * The main keyword in capitals: `SELECT`, `DROP`; for `WITH`, the keyword of the statement after it. Empty if there is none.
   */
  readonly verb: string
  /** The effect is ambiguous: databases parse the statement differently, or it runs code that is not part of it. */
  readonly isUnknown: boolean
}

const VERBS = new Set(
  [
    'SELECT VALUES TABLE FROM INSERT UPDATE DELETE MERGE REPLACE UPSERT TRUNCATE DROP CREATE ALTER RENAME GRANT REVOKE DENY',
    'COMMENT SET RESET SHOW USE DESCRIBE DESC EXPLAIN ANALYZE VACUUM REINDEX CLUSTER CHECKPOINT BEGIN START COMMIT ROLLBACK',
    'SAVEPOINT RELEASE END ABORT LOCK UNLOCK PRAGMA ATTACH DETACH COPY LOAD HANDLER OPTIMIZE REPAIR CHECK FLUSH KILL DISCARD',
    'LISTEN NOTIFY UNLISTEN FETCH MOVE CLOSE DEALLOCATE REFRESH REASSIGN PURGE BACKUP RESTORE IMPORT EXPORT SUMMARIZE',
  ].flatMap(line => line.split(' ')),
)
/** Keywords that change data and need no preceding semicolon in some databases: `SELECT 1 DROP TABLE x`. */
const CHANGES = new Set(
  'INSERT UPDATE DELETE MERGE TRUNCATE DROP CREATE ALTER GRANT REVOKE DENY EXEC EXECUTE BACKUP RESTORE KILL'.split(' '),
)
/** Keywords that run code outside the statement. */
const CODE = new Set(['CALL', 'DO', 'PREPARE', 'DECLARE', 'SOURCE', 'SYSTEM', 'DELIMITER'])
/**
 * Statements that contain such keywords as their own: `ALTER TABLE x DROP y`, `CREATE TABLE … ON DELETE CASCADE`, `GRANT INSERT
 * ON`.
 */
const HOLDS_CHANGES = new Set(['CREATE', 'ALTER', 'GRANT', 'REVOKE', 'DENY', 'MERGE', 'COMMENT'])
const AS_A_CLAUSE = new Set(['FOR', 'ON', 'KEY', 'AS', 'NO', 'DO', 'THEN', 'BEFORE', 'AFTER', 'OF', 'OR', '.', ','])
const BEGINS_TRANSACTION = new Set(
  'TRANSACTION TRAN WORK ISOLATION READ DEFERRED IMMEDIATE EXCLUSIVE CONCURRENT NOT DEFERRABLE'.split(' '),
)
const WHOLE = new Set(['TABLE', 'DATABASE', 'SCHEMA'])

/** True if a statement can begin with this word, in capitals. */
export function isSqlVerb(word: string): boolean {
  return VERBS.has(word) || CHANGES.has(word) || CODE.has(word)
}

/** Splits SQL into statements, in order, for any database. Takes time linear in the length. */
export function statementsOf(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = []
  let reader = new StatementReader()
  for (const token of new SqlTokens(sql)) {
    if (token.kind !== 'mark' || token.text !== ';') {
      reader.take(token)
      continue
    }
    for (const each of reader.statements()) statements.push(each)
    reader = new StatementReader()
  }
  return [...statements, ...reader.statements()]
}

class StatementReader {
  #verb = ''
  #isEmpty = true
  #isUnknown = false
  #isWith = false
  #depth = 0
  /** Changes inside a `WITH`, which run whatever the main statement is. */
  readonly #inner: string[] = []
  #before = ''

  take(token: SqlToken): void {
    this.#isEmpty = false
    const text = token.kind === 'word' || token.kind === 'mark' ? token.text : ''
    if (token.kind === 'unsure') this.#isUnknown = true
    else if (token.kind === 'mark') this.#mark(text)
    else if (token.kind === 'word') this.#word(text)
    else if (this.#verb === '' && !this.#isWith) this.#isUnknown = true
    this.#before = text
  }

  statements(): SqlStatement[] {
    if (this.#isEmpty) return []
    const isUnknown = this.#isUnknown || !VERBS.has(this.#verb)
    return [...this.#inner.map(verb => ({ verb, isUnknown: false })), { verb: this.#verb, isUnknown }]
  }

  #mark(text: string): void {
    if (text === '(') this.#depth++
    else if (text === ')') this.#depth--
    // Anything but a bracket before the first keyword is a command of the client: `.shell rm`.
    else if (this.#verb === '' && !this.#isWith) this.#isUnknown = true
    if (this.#before === 'TRUNCATE' && text === '(') this.#isUnknown ||= this.#verb === 'TRUNCATE'
  }

  #word(text: string): void {
    if (this.#verb === '' && !this.#isWith && text === 'WITH') this.#isWith = true
    else if (this.#verb !== '') this.#behind(text)
    else if (!this.#isWith) this.#verb = text
    else if (this.#depth === 0 && VERBS.has(text) && this.#before === ')') this.#verb = text
    else if (this.#before === '(' && CHANGES.has(text)) this.#inner.push(text)
  }

  #behind(text: string): void {
    if (this.#verb === 'BEGIN' && this.#before === 'BEGIN') this.#isUnknown ||= !BEGINS_TRANSACTION.has(text)
    if (this.#verb === 'COPY' && text === 'PROGRAM') this.#isUnknown = true
    if (this.#verb === 'SELECT' && text === 'INTO') this.#isUnknown = true
    if (HOLDS_CHANGES.has(this.#verb)) {
      this.#isUnknown ||=
        (this.#before === 'DROP' || this.#before === 'TRUNCATE') && this.#verb !== this.#before && WHOLE.has(text)
    } else if (CHANGES.has(text) && !AS_A_CLAUSE.has(this.#before)) {
      this.#isUnknown = true
    }
  }
}
