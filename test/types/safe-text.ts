/** What must not become a `SafeText`. Never run: each `@ts-expect-error` fails `npm run types` when its line compiles. */

import { literal, phrase, type SafeText, safeJson } from '../../src/content/safe-text.ts'
import { AttributeList } from '../../src/tracker/spans/attribute-list.ts'

export function ofConstants(one: 'a' | 'b', safe: SafeText): AttributeList {
  return new AttributeList()
    .setNamed('constant', literal('a constant'))
    .setNamed('one of several', literal(one))
    .setNamed('of several, in words', literal(`is ${one}`))
    .setNamed('with safe text', phrase`tool.${safe}`)
    .setNamed('as data', safeJson({ role: literal('user'), n: 1, parts: [safe, undefined, true] }))
}

export function ofPayloads(said: string, figure: number, anything: unknown): AttributeList {
  const list = new AttributeList()
  // @ts-expect-error: it may say anything
  list.setNamed('text', said)
  // @ts-expect-error: a text that is no constant
  list.setNamed('text', literal(said))
  // @ts-expect-error: constant in its beginning only
  list.setNamed('text', literal(`tool.${said}`))
  // @ts-expect-error: the same, when the type says so
  list.setNamed('text', literal(`tool.${said}` as const))
  // @ts-expect-error: of which part is a constant
  list.setNamed('text', literal(said as `tool.${string}`))
  // @ts-expect-error: a figure that is no constant
  list.setNamed('text', literal(`n.${figure}` as const))
  // @ts-expect-error: anything
  list.setNamed('text', literal(anything))
  // @ts-expect-error: what the compiler does not look at
  list.setNamed('text', literal(anything as any))
  // @ts-expect-error: a text that is no safe one
  list.setNamed('text', phrase`tool.${said}`)
  // @ts-expect-error: nor in data
  list.setNamed('text', safeJson({ parts: [said] }))
  return list
}
