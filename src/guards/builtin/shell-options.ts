import { knownWord, type ShellWord } from './shell-words.ts'

/** The options of a program in `getopt` notation: `u:` takes a value, `l::` only an attached one. */
export interface OptionSpec {
  readonly short: string
  /** Separated by spaces; a trailing `=` for options with a value, `=?` if it must be attached. */
  readonly long?: string
  /** Options, by name, that end option parsing: the following words belong to their value. */
  readonly last?: string
}

export interface ReadOptions {
  /** The values by letter or long name; an empty list for options without a value. */
  readonly options: ReadonlyMap<string, readonly ShellWord[]>
  readonly operands: readonly ShellWord[]
  /** False if an option is unknown or an expansion may be an option: the next word may be its value. */
  readonly isSure: boolean
}

interface Arity {
  readonly name: string
  readonly takes: 'nothing' | 'value' | 'attached'
}

/** Reads the options in front of the first operand. */
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

/** True if an expansion can turn the word into an option or several words. */
export function mayBeOption(word: ShellWord): boolean {
  return word.value === undefined && (word.start === '' || word.start.startsWith('-'))
}

interface Found {
  readonly found: readonly (readonly [string, ...ShellWord[]])[]
  /** The option whose value is the next word. */
  readonly open?: string
}

function longOption(text: string, spec: OptionSpec): Found | undefined {
  const equals = text.indexOf('=')
  const name = text.slice(2, equals === -1 ? undefined : equals)
  const arity = longArity(name, spec)
  if (arity === undefined) return undefined
  if (equals !== -1) {
    return { found: [[arity.name, knownWord(text.slice(equals + 1))]] }
  }
  return arity.takes === 'value' ? { found: [], open: arity.name } : { found: [[arity.name]] }
}

/** A long option may be abbreviated if the abbreviation is unambiguous. */
function longArity(name: string, spec: OptionSpec): Arity | undefined {
  const all = (spec.long ?? '').split(' ').filter(each => each !== '')
  const arities = all.map((each): Arity => {
    const [full = '', value] = each.split('=')
    return { name: full, takes: value === undefined ? 'nothing' : value === '?' ? 'attached' : 'value' }
  })
  const begun = arities.filter(each => each.name.startsWith(name))
  return arities.find(each => each.name === name) ?? (begun.length === 1 ? begun[0] : undefined)
}

function shortOptions(text: string, spec: OptionSpec): Found | undefined {
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
