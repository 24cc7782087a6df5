/**
 * `verb`: the main keyword in capitals (`SELECT`, `DROP`); for `WITH`, the keyword of the statement after it. Empty if there is
 * none. `isUnknown`: databases parse the statement differently, or it runs code that is not part of it.
 */
export interface SqlStatement {
  readonly verb: string
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
/**
 * Keywords that change data and need no preceding semicolon in some databases: `SELECT 1 DROP TABLE x`. Statements of
 * `HOLDS_CHANGES` contain them as their own: `ALTER TABLE x DROP y`, `CREATE TABLE … ON DELETE CASCADE`, `GRANT INSERT ON`.
 */
const CHANGES = new Set(
  'INSERT UPDATE DELETE MERGE TRUNCATE DROP CREATE ALTER GRANT REVOKE DENY EXEC EXECUTE BACKUP RESTORE KILL'.split(' '),
)
const CODE = new Set(['CALL', 'DO', 'PREPARE', 'DECLARE', 'SOURCE', 'SYSTEM', 'DELIMITER'])
const HOLDS_CHANGES = new Set(['CREATE', 'ALTER', 'GRANT', 'REVOKE', 'DENY', 'MERGE', 'COMMENT'])
const AS_A_CLAUSE = new Set(['FOR', 'ON', 'KEY', 'AS', 'NO', 'DO', 'THEN', 'BEFORE', 'AFTER', 'OF', 'OR', '.', ','])
const BEGINS_TRANSACTION = new Set(
  'TRANSACTION TRAN WORK ISOLATION READ DEFERRED IMMEDIATE EXCLUSIVE CONCURRENT NOT DEFERRABLE'.split(' '),
)
const WHOLE = new Set(['TABLE', 'DATABASE', 'SCHEMA'])

export function isSqlVerb(word: string): boolean {
  return VERBS.has(word) || CHANGES.has(word) || CODE.has(word)
}

export function statementsOf(sql: string): SqlStatement[] {
  const readers = [new StatementReader()]
  for (const token of new SqlTokens(sql)) {
    if (token.kind === 'mark' && token.text === ';') readers.push(new StatementReader())
    else readers.at(-1)?.addToken(token)
  }
  return readers.flatMap(reader => reader.statements())
}

class StatementReader {
  #verb = ''
  #isEmpty = true
  #isUnknown = false
  #isWith = false
  #depth = 0
  readonly #inner: string[] = []
  #before = ''

  addToken({ kind, text = '' }: SqlToken): void {
    this.#isEmpty = false
    if (kind === 'unsure') this.#isUnknown = true
    else if (kind === 'mark') this.#mark(text)
    else if (kind === 'word') this.#word(text)
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

/**
 * Words and marks of an SQL text, without quoted and commented parts. If databases disagree on these parts, the token is
 * `unsure`, because one of them may run text that another treats as a comment.
 */
interface SqlToken {
  readonly kind: 'word' | 'mark' | 'quoted' | 'unsure'
  readonly text?: string
}

const SPACE = /\s+/y
const WORD = /[\p{L}\p{N}_@#$]+/uy
const REST_OF_LINE = /[^\n\r]*/y
const DOLLAR_QUOTE = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy
const MEANS_SOMETHING = /[;'"`[]|\$\w*\$|\/\*/

class SqlTokens {
  readonly #sql: string
  #at = 0

  constructor(sql: string) {
    this.#sql = sql
  }

  *[Symbol.iterator](): Generator<SqlToken> {
    while (this.#at < this.#sql.length) {
      if (this.#match(SPACE) !== undefined) continue
      yield* this.#next()
    }
  }

  *#next(): Generator<SqlToken> {
    const sign = this.#sql.charAt(this.#at)
    const pair = this.#sql.slice(this.#at, this.#at + 2)
    if (pair === '--' || sign === '#') yield* this.#lineComment(pair === '--')
    else if (pair === '/*') yield* this.#blockComment()
    else if (sign === "'" || sign === '"' || sign === '`') yield* this.#quoted(sign)
    else if (sign === '[') yield* this.#bracketed()
    else if (sign === '$') yield* this.#dollar()
    else yield this.#plain(sign)
  }

  #plain(sign: string): SqlToken {
    const word = this.#match(WORD)
    if (word !== undefined) {
      // Oracle: `q'[it's]'` ends at the bracket.
      if (/^n?q$/i.test(word) && this.#sql.charAt(this.#at) === "'") return { kind: 'unsure' }
      return { kind: 'word', text: word.toUpperCase() }
    }
    this.#at++
    // A command of the client (`\! rm`), or a NUL, which ends the text in some databases.
    return sign === '\\' || sign === '\0' ? { kind: 'unsure' } : { kind: 'mark', text: sign }
  }

  /** `--` needs a following space in MySQL; `#` is a comment only there. */
  *#lineComment(isDashed: boolean): Generator<SqlToken> {
    this.#at += isDashed ? 2 : 1
    const rest = this.#match(REST_OF_LINE) ?? ''
    const isSure = isDashed && /^(?:\s|$)/.test(rest)
    if (!isSure && MEANS_SOMETHING.test(rest)) yield { kind: 'unsure' }
  }

  /** PostgreSQL nests these comments; MySQL runs the contents of `/*!`. */
  *#blockComment(): Generator<SqlToken> {
    let isSure = !/^\/\*M?!/.test(this.#sql.slice(this.#at, this.#at + 4))
    let depth = 0
    const marks = /\/\*|\*\//g
    marks.lastIndex = this.#at
    this.#at = this.#sql.length
    for (let mark = marks.exec(this.#sql); mark !== null; mark = marks.exec(this.#sql)) {
      depth += mark[0] === '/*' ? 1 : -1
      if (depth > 1) isSure = false
      if (depth > 0) continue
      this.#at = marks.lastIndex
      break
    }
    if (!isSure || depth > 0) yield { kind: 'unsure' }
  }

  /** Quotes are escaped by doubling; some databases also accept a backslash. */
  *#quoted(quote: string): Generator<SqlToken> {
    let isSure = true
    let end = this.#sql.indexOf(quote, this.#at + 1)
    for (let from = this.#at + 1; end !== -1; end = this.#sql.indexOf(quote, from)) {
      if (quote !== '`' && this.#backslashesBefore(end, from) % 2 === 1) isSure = false
      if (this.#sql.charAt(end + 1) !== quote) break
      from = end + 2
    }
    yield* this.#through(end, isSure)
  }

  #backslashesBefore(end: number, from: number): number {
    let count = 0
    while (end - count > from && this.#sql.charAt(end - count - 1) === '\\') count++
    return count
  }

  /** A name in SQL Server and SQLite, a subscript in PostgreSQL. */
  *#bracketed(): Generator<SqlToken> {
    const end = this.#sql.indexOf(']', this.#at + 1)
    const inside = end === -1 ? '' : this.#sql.slice(this.#at + 1, end)
    yield* this.#through(end, !MEANS_SOMETHING.test(inside) && !/--|#/.test(inside))
  }

  *#dollar(): Generator<SqlToken> {
    const tag = this.#match(DOLLAR_QUOTE)
    if (tag === undefined) {
      this.#at++
      this.#match(WORD)
      yield { kind: 'quoted' }
      return
    }
    const end = this.#sql.indexOf(tag, this.#at)
    yield* this.#through(end === -1 ? -1 : end + tag.length - 1, true)
  }

  *#through(end: number, isSure: boolean): Generator<SqlToken> {
    this.#at = end === -1 ? this.#sql.length : end + 1
    yield end === -1 || !isSure ? { kind: 'unsure' } : { kind: 'quoted' }
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#sql)?.[0]
    if (found !== undefined && found !== '') this.#at += found.length
    return found === '' ? undefined : found
  }
}
