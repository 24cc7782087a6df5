/** Whatever is in a field: the host does not notice, the turn around it is drawn, and every record is counted once. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { HookName } from '../../src/index.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { CONTRACT_FIELDS } from '../support/contract-fields.ts'
import { START_AT } from '../support/feed.ts'
import { expectAllWell, tellSpoilt, turnsDrawn } from '../support/hostile-scene.ts'
import { boom, HOSTILE_VALUES, type HostileValue, LARGE_VALUES } from '../support/hostile-values.ts'
import { SAMPLED, sample } from '../support/sample.ts'

const EVERYTHING = { capture_sender_id: true, capture_conversation_history: true } as const

/** Of the fields of each hook. */
const SHARE = 1 / 24

const CASES = sample([...CONTRACT_FIELDS], 6).map(([hook, fields]) => ({
  hook,
  fields: sample(fields, Math.ceil(fields.length * SHARE)),
}))

/** Spoils one field of one hook in every way, a turn each; `define` puts the value into the payload. */
async function expectSurvived(
  plugin: TestPlugin,
  { hook, field }: { readonly hook: HookName; readonly field: string },
  values: readonly HostileValue[],
  define: (value: unknown) => PropertyDescriptor = value => ({ value, enumerable: true }),
): Promise<void> {
  const noticed = values.flatMap(({ name, make }, index) => {
    const descriptor = define(make())
    const found = tellSpoilt(plugin, `s${index}`, hook, payload =>
      Object.defineProperty({ ...payload }, field, descriptor),
    )
    return found.map(what => `${field} is ${name}: ${what}`)
  })
  const drawn = turnsDrawn(await expectAllWell(plugin))
  const missing = values.filter((_, index) => !field.endsWith('_id') && !drawn.has(`s${index}.t`))
  expect([...noticed, ...missing.map(({ name }) => `${field} is ${name}: the loop is missing`)]).toEqual([])
}

/** A file for each mode: they are many, and run side by side. */
export function everyFieldMayBeAnything(content_capture: 'preview' | 'full'): void {
  // A record without a time is taken for one of now, and now must not be years after the others.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START_AT + 60_000 }))
  afterEach(() => void vi.useRealTimers())

  const create = (): TestPlugin => createTestPlugin({ host: 'agent', content_capture, ...EVERYTHING })

  test.each(CASES)(`accepts anything in every field of $hook, ${SAMPLED}`, async ({ hook, fields }) => {
    for (const field of fields) {
      const plugin = create()
      await expectSurvived(plugin, { hook, field }, HOSTILE_VALUES)
      expect(plugin.stats().hooks.error).toBe(0)
    }
  })

  test.each(CASES)(`accepts any size in every field of $hook, ${SAMPLED}`, async ({ hook, fields }) => {
    for (const field of fields) {
      const plugin = create()
      await expectSurvived(plugin, { hook, field }, LARGE_VALUES)
      expect(plugin.stats().hooks.error).toBe(0)
    }
  })

  test.each(CASES)(
    `survives every field of $hook that throws when read, or changes at each read, ${SAMPLED}`,
    async ({ hook, fields }) => {
      const fickle = ['text', 1, null, 'other', {}]
      const values: HostileValue[] = [
        { name: 'a getter that throws', make: () => boom },
        { name: 'a getter that changes its mind', make: () => () => fickle[reads++ % fickle.length] },
      ]
      let reads = 0
      for (const field of fields) {
        const define = (get: unknown): PropertyDescriptor => ({ get: get as () => unknown, enumerable: true })
        await expectSurvived(create(), { hook, field }, values, define)
      }
    },
  )
}
