/** What a rule has found. None of it holds text that the agent wrote, but for paths and the plain names of commands. */
export interface Finding {
  /** `unknown`: it cannot be told whether the rule is broken. */
  readonly decision: 'block' | 'ask' | 'unknown'
  /** For the model: what is wrong, and what to do. */
  readonly reason: string
  /** For the person. */
  readonly detail: string
}

/** A rule of a guard that cannot be: one line, for who has written it. */
export function refused(trouble: string): TypeError {
  return new TypeError(`guardrails: ${trouble}`)
}

/** @throws {TypeError} where a key is none: a rule that is misspelled would guard nothing */
export function checkKeys(value: unknown, where: string, keys: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refused(`${where} is no object with some of: ${keys.join(', ')}`)
  }
  const wrong = Object.keys(value).find(key => !keys.includes(key))
  if (wrong !== undefined) throw refused(`${where} has no "${wrong}": there are ${keys.join(', ')}`)
}

/** @throws {TypeError} */
export function checkList(value: unknown, where: string): void {
  if (!Array.isArray(value)) throw refused(`${where} is no list`)
  if (value.length === 0) throw refused(`${where} is empty: leave it out, or put something in it`)
}

/** @throws {TypeError} */
export function checkChoice(value: unknown, where: string, choices: readonly string[]): void {
  if (!choices.includes(value as string)) throw refused(`${where} is none of: ${choices.join(', ')}`)
}
