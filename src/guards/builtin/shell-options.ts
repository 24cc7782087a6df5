import { knownWord, type ShellWord, unknownWord } from './shell-words.ts'

/**
 * The options of a program in `getopt` notation: `u:` takes a value, `l::` only an attached one. Long ones are separated by
 * spaces, with a trailing `=` for a value and `=?` for an attached one.
 */
export interface OptionSpec {
  readonly short: string
  readonly long?: string
  readonly last?: string
}

export interface ReadOptions {
  readonly options: ReadonlyMap<string, readonly ShellWord[]>
  readonly operands: readonly ShellWord[]
  /** False if an option is unknown or an expansion may be an option: the next word may be its value. */
  readonly isSure: boolean
}

export function readOptions(words: readonly ShellWord[], spec: OptionSpec): ReadOptions {
  const options = new Map<string, ShellWord[]>()
  const note = (name: string, values: readonly ShellWord[]): void => {
    const noted = options.get(name)
    if (noted === undefined) options.set(name, [...values])
    else noted.push(...values)
  }
  const last = spec.last?.split(' ') ?? []
  let isSure = true
  let at = 0
  for (; at < words.length; at++) {
    const { value } = words[at] as ShellWord
    if (value === undefined) isSure &&= !mayBeOption(words[at] as ShellWord)
    if (value === '--') return { options, operands: words.slice(at + 1), isSure }
    if (value === undefined || !value.startsWith('-') || value === '-') break
    const read = value.startsWith('--') ? longOption(value, spec) : shortOptions(value, spec)
    if (read === undefined) isSure = false
    for (const [name, ...values] of read?.found ?? []) note(name, values)
    if (read?.open !== undefined) {
      const next = words[++at]
      // An unquoted expansion may become several words or none.
      isSure &&= next?.value !== undefined
      if (next !== undefined) note(read.open, [next])
    }
    if (last.some(name => options.has(name))) return { options, operands: words.slice(at + 1), isSure }
  }
  return { options, operands: words.slice(at), isSure }
}

export function mayBeOption(word: ShellWord): boolean {
  return word.value === undefined && (word.start === '' || word.start.startsWith('-'))
}

interface ParsedOption {
  readonly found: readonly (readonly [string, ...ShellWord[]])[]
  readonly open?: string
}

function longOption(text: string, spec: OptionSpec): ParsedOption | undefined {
  const equals = text.indexOf('=')
  const name = text.slice(2, equals === -1 ? undefined : equals)
  const all = (spec.long ?? '').split(' ').filter(each => each !== '')
  const begun = all.map(each => each.split('=')).filter(([full = '']) => full.startsWith(name))
  const meant = begun.find(([full]) => full === name) ?? (begun.length === 1 ? begun[0] : undefined)
  if (meant === undefined) return undefined
  const [full = '', value] = meant
  if (equals !== -1) return { found: [[full, knownWord(text.slice(equals + 1))]] }
  return value === '' ? { found: [], open: full } : { found: [[full]] }
}

function shortOptions(text: string, spec: OptionSpec): ParsedOption | undefined {
  const found: [string, ...ShellWord[]][] = []
  for (let at = 1; at < text.length; at++) {
    const letter = text.charAt(at)
    const place = letter === ':' ? -1 : spec.short.indexOf(letter)
    if (place === -1) return undefined
    const takes = /^:{0,2}/.exec(spec.short.slice(place + 1, place + 3))?.[0].length ?? 0
    const value = text.slice(at + 1)
    if (takes === 0 || (takes === 2 && value === '')) {
      found.push([letter])
    } else if (value !== '') {
      return { found: [...found, [letter, knownWord(value)]] }
    } else {
      return { found, open: letter }
    }
  }
  return { found }
}

/**
 * `valued`: letters of other options with a value. Text attached to them is no further option. `isOldStyle`: letters without
 * a dash may come first, followed by their values in the same order: `tar cIf zstd a.tar b`.
 */
export interface CodeOptions {
  readonly short?: string
  readonly valued?: string
  readonly long?: string
  readonly prefixed?: Readonly<Record<string, string>>
  readonly isOldStyle?: true
}

interface GivenOption {
  readonly name: string
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

function optionsIn(names = ''): { readonly name: string; readonly isAttached: boolean }[] {
  const all = names.split(' ').filter(name => name !== '')
  return all.map(name => ({ name: name.replace(/\?$/, ''), isAttached: name.endsWith('?') }))
}

/** An ambiguous abbreviation is harmless: the program rejects it and runs nothing. */
function longGiven(word: ShellWord, { long }: CodeOptions): GivenOption | undefined {
  const equals = word.start.indexOf('=')
  const name = word.start.slice(2, equals === -1 ? undefined : equals)
  const option = name === '' ? undefined : optionsIn(long).find(each => each.name.startsWith(name))
  if (option === undefined) return undefined
  if (equals !== -1) return { name: option.name, value: restOf(word, equals + 1) }
  return option.isAttached ? undefined : { name: option.name, value: undefined }
}

function shortGiven(word: ShellWord, { short, valued = '' }: CodeOptions): GivenOption | undefined {
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
  return word.value === undefined ? unknownWord(start) : knownWord(start)
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
