/**
 * Words and marks of an SQL text, without quoted and commented parts. If databases disagree on these parts, the token is
 * `unsure`, because one of them may run text that another treats as a comment.
 */
export type SqlToken =
  /** In capitals. */
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'mark'; readonly text: string }
  | { readonly kind: 'quoted' }
  | { readonly kind: 'unsure' }

const SPACE = /\s+/y
const WORD = /[\p{L}\p{N}_@#$]+/uy
const REST_OF_LINE = /[^\n\r]*/y
const DOLLAR_QUOTE = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy
/** Characters that would matter if the line were not a comment. */
const MEANS_SOMETHING = /[;'"`[]|\$\w*\$|\/\*/

export class SqlTokens {
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
