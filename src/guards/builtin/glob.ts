type Token =
  | { readonly kind: 'character'; readonly text: string }
  /** `?`: one character of a segment. */
  | { readonly kind: 'one' }
  /** `*`: any characters of a segment. */
  | { readonly kind: 'some' }
  /** `**`: any characters. */
  | { readonly kind: 'all' }
  /** `**` and a slash: zero or more folders. */
  | { readonly kind: 'folders' }

const LONGEST = 500

export type GlobMatcher =
  | { readonly ok: true; readonly matches: (text: string) => boolean }
  | { readonly ok: false; readonly reason: string }

/** Matches the whole text. A backslash escapes the next character. Takes at most text length × glob length steps. */
export function globMatcher(glob: string): GlobMatcher {
  if (glob === '') return { ok: false, reason: 'it is empty' }
  if (glob.length > LONGEST) return { ok: false, reason: `it is longer than ${LONGEST} characters` }
  const tokens = tokensOf(glob)
  return { ok: true, matches: text => fits(tokens, text) }
}

const TOKEN = /\*\*\/|\*\*+|\*|\?|\\?([\s\S])/gu

function tokensOf(glob: string): Token[] {
  return [...glob.matchAll(TOKEN)].flatMap(([text, character], at, all): Token[] => {
    if (character !== undefined) return [{ kind: 'character', text: character }]
    if (text === '?') return [{ kind: 'one' }]
    if (text === '*') return [{ kind: 'some' }]
    // Only at the start of a segment: `a**/b` does not match `ab`.
    const before = all[at - 1]?.[0]
    if (text !== '**/') return [{ kind: 'all' }]
    const isSegment = before === undefined || before.endsWith('/')
    return isSegment ? [{ kind: 'folders' }] : [{ kind: 'all' }, { kind: 'character', text: '/' }]
  })
}

/** Tracks all reachable positions of the glob at once, so there is no backtracking. */
function fits(tokens: readonly Token[], text: string): boolean {
  let places = entered(tokens, new Set(), 0)
  for (const character of text) {
    const next = new Set<number>()
    for (const at of places) step(tokens, next, at, character)
    if (next.size === 0) return false
    places = next
  }
  return places.has(tokens.length)
}

function step(tokens: readonly Token[], next: Set<number>, at: number, character: string): void {
  const token = tokens[at]
  const isSlash = character === '/'
  if (token === undefined) return
  if (token.kind === 'character') {
    if (token.text === character) entered(tokens, next, at + 1)
  } else if (token.kind === 'one') {
    if (!isSlash) entered(tokens, next, at + 1)
  } else if (token.kind === 'folders') {
    next.add(at)
    if (isSlash) entered(tokens, next, at + 1)
  } else if (token.kind === 'all' || !isSlash) {
    entered(tokens, next, at)
  }
}

/** Adds a position and all that follow it without consuming a character. */
function entered(tokens: readonly Token[], places: Set<number>, from: number): Set<number> {
  for (let at = from; ; at++) {
    places.add(at)
    const kind = tokens[at]?.kind
    if (kind !== 'some' && kind !== 'all' && kind !== 'folders') return places
  }
}
