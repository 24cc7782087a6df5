import { knownWord, type ShellWord } from './shell-words.ts'

/** Option spec of a program that passes option values to a shell. Only the parts needed to find those values. */
export interface CodeOptions {
  /** Separated by spaces; a trailing `?` if the value must be attached. */
  readonly short?: string
  /** Letters of other options with a value: text attached to them is no further option. */
  readonly valued?: string
  /** Like `short`. Long options may be abbreviated. */
  readonly long?: string
  /** Options whose value starts with a word that determines if the rest is code. */
  readonly prefixed?: Readonly<Record<string, string>>
  /** Letters without a dash may come first, followed by their values in the same order: `tar cIf zstd a.tar b`. */
  readonly isOldStyle?: true
}

interface CodeOption {
  readonly name: string
  readonly isAttached: boolean
}

interface Given {
  readonly name: string
  /** Undefined if the next word is the value. */
  readonly value: ShellWord | undefined
}

/**
 * The option values that are code. Operands and values of other options are not distinguished: anything that may be code
 * counts.
 */
export function codeIn(given: readonly ShellWord[], options: CodeOptions): ShellWord[] {
  const args = options.isOldStyle ? inNewStyle(given, options) : given
  return args.flatMap((word, at) => {
    const found = word.start.startsWith('--') ? longGiven(word, options) : shortGiven(word, options)
    const value = found?.value ?? args[at + 1]
    if (found === undefined || value === undefined) return []
    const prefix = options.prefixed?.[found.name]
    return prefix === undefined ? [value] : behindPrefix(value, prefix)
  })
}

function optionsIn(names = ''): CodeOption[] {
  const all = names.split(' ').filter(name => name !== '')
  return all.map(name => ({ name: name.replace(/\?$/, ''), isAttached: name.endsWith('?') }))
}

/** An ambiguous abbreviation is harmless: the program rejects it and runs nothing. */
function longGiven(word: ShellWord, { long }: CodeOptions): Given | undefined {
  const equals = word.start.indexOf('=')
  const name = word.start.slice(2, equals === -1 ? undefined : equals)
  const option = name === '' ? undefined : optionsIn(long).find(each => each.name.startsWith(name))
  if (option === undefined) return undefined
  if (equals !== -1) return { name: option.name, value: restOf(word, equals + 1) }
  return option.isAttached ? undefined : { name: option.name, value: undefined }
}

function shortGiven(word: ShellWord, { short, valued = '' }: CodeOptions): Given | undefined {
  if (!word.start.startsWith('-')) return undefined
  const options = optionsIn(short)
  for (let at = 1; at < word.start.length; at++) {
    const option = options.find(({ name }) => word.start.startsWith(name, at))
    const end = at + (option?.name.length ?? 1)
    const isOpen = end === word.start.length && word.value !== undefined
    if (option !== undefined && !isOpen) return { name: option.name, value: restOf(word, end) }
    if (option !== undefined) return option.isAttached ? undefined : { name: option.name, value: undefined }
    if (valued.includes(word.start.charAt(at))) return undefined
  }
  return undefined
}

function restOf(word: ShellWord, at: number): ShellWord {
  const start = word.start.slice(at)
  return { value: word.value === undefined ? undefined : start, start }
}

function behindPrefix(value: ShellWord, prefix: string): ShellWord[] {
  if (value.start.startsWith(prefix)) return [restOf(value, prefix.length)]
  return value.value === undefined && prefix.startsWith(value.start) ? [value] : []
}

function inNewStyle(args: readonly ShellWord[], { short, valued = '' }: CodeOptions): readonly ShellWord[] {
  const [first, ...rest] = args
  if (first?.value === undefined || first.value.startsWith('-')) return args
  const code = optionsIn(short).map(({ name }) => name)
  const words = [...first.value].flatMap(letter => {
    const takes = code.includes(letter) || valued.includes(letter)
    return [knownWord(`-${letter}`), ...(takes ? rest.splice(0, 1) : [])]
  })
  return [...words, ...rest]
}
