/** What all agents are put through whose tools a guard can keep from running: the same scenes, of which each has its own part. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Capabilities, Phase } from '../../src/guards/index.ts'
import type { StoredSpan } from '../../src/reading/stored-span.ts'
import type { ModelRequest } from '../support/model-server.mjs'

export const GUARD_HOOKS: string = readFileSync(new URL('guard-hooks.mjs', import.meta.url), 'utf8')
export const RM = { name: 'bash', arguments: { command: 'rm victim.txt' } }
export const REFUSED = 'Refused by the guard.'
export const LINE = 'The injected line.'

/** The ways to fail, and what is to come of each. */
export const FAILURES: readonly (readonly [string, 'pass' | 'block'])[] = [
  'throws',
  'rejects',
  'hangs',
  'nonsense',
].flatMap(guard => (['pass', 'block'] as const).map(onFailure => [guard, onFailure] as const))

/** Which decisions of an agent's table some scene has shown. */
export class Covered {
  readonly #pairs = new Set<string>()

  has(phase: Phase, decision: string): void {
    this.#pairs.add(`${phase} ${decision}`)
  }

  get pairs(): string[] {
    return [...this.#pairs].sort()
  }
}

export function pairsOf(able: Capabilities): string[] {
  return Object.entries(able)
    .flatMap(([phase, decisions]) => decisions.map(decision => `${phase} ${decision}`))
    .sort()
}

export function isThere(home: string, name: string): boolean {
  return existsSync(join(home, 'project', name))
}

/** What the model was told, of one kind, in all that it was asked. */
export function told(requests: readonly ModelRequest[], kind: ModelRequest['items'][number]['kind']): string {
  return requests.flatMap(({ items }) => items.filter(item => item.kind === kind).map(({ text }) => text)).join('\n')
}

/** Spans of hooks, each with what it said and what came of it. */
export function hookSpans(spans: readonly StoredSpan[]): string[] {
  return spans
    .filter(({ name }) => name.startsWith('hook.'))
    .map(
      ({ name, attributes }) =>
        `${name} ${attributes['hermes.hook.phase']} ${attributes['hermes.hook.verdict']} ${attributes['hermes.hook.action']}`,
    )
}

/** What was said to the person beside the failures of hooks. */
export function unexpected(stderr: string): string {
  return stderr.replace(/^hookspan: \S+: hook \S+ failed in .*$/gm, '').trim()
}
