import type { Assignment, ParameterExpansionPart, SimpleExpansionPart, Word, WordPart } from 'unbash'

/** A word of a command as the program will see it, as far as the text alone tells. */
export interface ShellWord {
  /** Without quotes, the home directory as `~`; absent where an expansion decides. */
  readonly value: string | undefined
  /** What surely stands at its beginning. */
  readonly start: string
}

const HOME = /^\$(?:HOME$|\{HOME\}$)/
/** Quoted, these are plain characters; read as a path they would be taken for the home directory. */
const LOOKS_LIKE_HOME = /^(?:~|\$\{?HOME\b)/

export function knownWord(value: string): ShellWord {
  return { value, start: value }
}

export function unknownWord(start = ''): ShellWord {
  return { value: undefined, start }
}

/** The word that both make, one behind the other. */
export function joinedWord(one: ShellWord, other: ShellWord): ShellWord {
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
  for (const piece of isHome ? rest : [first, ...rest]) {
    if (typeof piece !== 'string') return unknownWord(start)
    start += piece
  }
  if (isHome) return start === '~' || start.startsWith('~/') ? knownWord(start) : unknownWord()
  return plain({ text: word.text, value: start })
}

function plain(word: { readonly text: string; readonly value: string }): ShellWord {
  const isQuoted = LOOKS_LIKE_HOME.test(word.value) && !word.text.startsWith('~')
  return isQuoted ? unknownWord(`./${word.value}`) : knownWord(word.value)
}

type Expansion = Exclude<WordPart, { type: 'Literal' | 'SingleQuoted' | 'AnsiCQuoted' }>
type HomePart = SimpleExpansionPart | ParameterExpansionPart

function flat(part: WordPart): (string | Expansion | HomePart)[] {
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
