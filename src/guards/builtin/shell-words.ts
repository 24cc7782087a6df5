import type { Assignment, Word, WordPart } from 'unbash'

/** A word of a command as the program receives it, as far as the text alone determines it. */
export interface ShellWord {
  /** Unquoted, with the home directory as `~`. Undefined if it depends on an expansion. */
  readonly value: string | undefined
  /** The known beginning of the word. */
  readonly start: string
  /** The word with `*` for each wildcard, if file name patterns are the only unknown part. */
  readonly glob?: string
}

const HOME = /^\$(?:HOME$|\{HOME\}$)/
/** Quoted, these are plain characters; as a path they would be mistaken for the home directory. */
const LOOKS_LIKE_HOME = /^(?:~|\$\{?HOME\b)/

export function knownWord(value: string): ShellWord {
  return { value, start: value }
}

export function unknownWord(start = ''): ShellWord {
  return { value: undefined, start }
}

function joinedWord(one: ShellWord, other: ShellWord): ShellWord {
  if (one.value === undefined) return one
  const start = one.value + other.start
  return other.value === undefined ? unknownWord(start) : knownWord(start)
}

export function readWord(word: Word | Assignment): ShellWord {
  if (word.type === 'Word') return readParts(word)
  const name = knownWord(`${word.name}${word.append === true ? '+=' : '='}`)
  if (word.index !== undefined || word.value.type !== 'Word') return unknownWord(name.start)
  return joinedWord(name, readParts(word.value))
}

function readParts(word: Word): ShellWord {
  const parts = word.parts ?? []
  if (parts.length === 0) return plain(word)
  const [first = '', ...rest] = parts.flatMap(flat)
  const isHome = typeof first !== 'string' && HOME.test(first.text)
  let start = isHome ? '~' : ''
  const pieces = isHome ? rest : [first, ...rest]
  for (const piece of pieces) {
    if (typeof piece !== 'string') return withGlob(start, pieces, isHome)
    start += piece
  }
  if (isHome) return start === '~' || start.startsWith('~/') ? knownWord(start) : unknownWord()
  return plain({ text: word.text, value: start })
}

function withGlob(start: string, pieces: readonly (string | Expansion)[], isHome: boolean): ShellWord {
  if (pieces.some(piece => typeof piece !== 'string' && piece.type !== 'Glob')) return unknownWord(start)
  const glob = pieces.map(piece => (typeof piece === 'string' ? piece : '*')).join('')
  return { value: undefined, start, glob: isHome ? `~${glob}` : glob }
}

function plain(word: { readonly text: string; readonly value: string }): ShellWord {
  const isQuoted = LOOKS_LIKE_HOME.test(word.value) && !word.text.startsWith('~')
  return isQuoted ? unknownWord(`./${word.value}`) : knownWord(word.value)
}

type Expansion = Exclude<
  WordPart,
  { type: 'Literal' | 'SingleQuoted' | 'AnsiCQuoted' | 'DoubleQuoted' | 'LocaleString' }
>

function flat(part: WordPart): (string | Expansion)[] {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [part.value]
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.flatMap(flat)
    default:
      return [part]
  }
}
