import { readFileSync } from 'node:fs'
import type { HookMeta } from '../../src/index.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'

export interface FedRecord extends HookMeta {
  readonly hook: string
  readonly payload?: unknown
}

/** The records of a bundled recording, without its head line. */
export function recording(name: string): FedRecord[] {
  return recordsOf(new URL(`../../fixtures/${name}`, import.meta.url))
}

/** The records of a file, without its head line. */
export function recordsOf(file: string | URL): FedRecord[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as FedRecord)
    .filter(record => record.hook !== undefined)
}

/** A time to write scenarios in: milliseconds after this instant. */
export const START_AT = 1_795_256_100_000

/**
 * A scenario step: milliseconds since the start, hook, payload.
 * The short form keeps a test readable as the story that it tells.
 */
export type Step = readonly [number, string, object?, HookMeta?]

export function feed(plugin: TestPlugin, records: readonly FedRecord[]): void {
  for (const { hook, payload, ...meta } of records) plugin.emitUntyped(hook, payload, meta)
}

export function feedSteps(plugin: TestPlugin, steps: readonly Step[]): void {
  for (const [millis, hook, payload, meta] of steps)
    plugin.emitUntyped(hook, payload ?? {}, { at: START_AT + millis, ...meta })
}

/** A plugin that has been told the steps; nothing is ended for it. */
export function told(steps: readonly Step[], options: Parameters<typeof createTestPlugin>[0] = {}): TestPlugin {
  const plugin = createTestPlugin(options)
  feedSteps(plugin, steps)
  return plugin
}
