import type { Assignment, Word, WordPart } from 'unbash'

/**
 * A word of a command as the program receives it, as far as the text alone determines it. `glob`: the word with `*` for each
 * wildcard, if file name patterns are the only unknown part.
 */
export interface ShellWord {
  readonly value: string | undefined
  readonly start: string
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

export function readWord(word: Word | Assignment): ShellWord {
  if (word.type === 'Word') return readParts(word)
  const name = `${word.name}${word.append === true ? '+=' : '='}`
  if (word.index !== undefined || word.value.type !== 'Word') return unknownWord(name)
  const { value, start } = readParts(word.value)
  return value === undefined ? unknownWord(name + start) : knownWord(name + value)
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

/** The reason why the effect of a command is unknown. Ends a sentence that begins with "cannot be read:". */
export type ShellDoubt =
  | 'it cannot be parsed'
  | 'it is too long'
  | 'it is nested too deeply'
  | 'it holds a control character'
  | 'the name of a command comes from an expansion'
  | 'an option in front of a command is not known'
  | 'code is handed to an interpreter'
  | 'code is made while it runs'
  | 'a shell or an interpreter reads what to run'
  | 'a file of commands is sourced'
  | 'names of commands are given another meaning'
  | 'a variable is set that changes what is run'
  | 'a setting of git names a command'
  | 'it runs somewhere else'
  | 'the working directory is changed by an option'
  | 'it is a command of Windows'

export interface ShellRuns {
  readonly commands?: readonly (readonly ShellWord[])[]
  readonly code?: readonly ShellWord[]
  readonly doubt?: ShellDoubt | undefined
}

export const RUNS_NOTHING: ShellRuns = {}

export function doubtful(doubt: ShellDoubt): ShellRuns {
  return { doubt }
}

/** After an unknown option, the next word may be its value instead of the command. */
export function optionDoubt(read: { readonly isSure: boolean }): ShellDoubt | undefined {
  return read.isSure ? undefined : 'an option in front of a command is not known'
}

export function asText(words: readonly ShellWord[]): ShellWord {
  const values = words.map(word => word.value)
  return values.includes(undefined) ? unknownWord(words[0]?.start) : knownWord(values.join(' '))
}

/** A table by the names of programs. The keys are lists of names: `'docker podman'`. */
export function rowsByName<Row>(rows: Readonly<Record<string, Row>>): ReadonlyMap<string, Row> {
  return new Map(Object.entries(rows).flatMap(([names, row]) => names.split(' ').map(name => [name, row] as const)))
}
