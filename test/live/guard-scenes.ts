/** Hooks that act, as files of a user, and what a live suite claims of them: each decision of an agent's table has its scene. */
import { expect, test } from 'vitest'
import type { Capabilities, Decision, Phase } from '../../src/guards/index.ts'
import type { StoredSpan } from '../../src/reading/stored-span.ts'
import { buildForest } from '../../src/reading/trace-forest.ts'
import { outline } from '../../src/reading/tree-outline.ts'
import { tracesOf } from './live-host.ts'

/** What a reader of a trace wants to know of hooks. */
const SHOWN = [
  'hermes.hook.phase',
  'hermes.hook.verdict',
  'hermes.hook.action',
  'hermes.hook.failure',
  'hermes.tool.outcome',
  'hermes.tool.blocked_by',
]

/** On a busy machine a hook that passes may take long enough to be seen; of that nothing is claimed. */
async function spansOf(home: string): Promise<StoredSpan[]> {
  const { spans } = await tracesOf(home)
  return spans.filter(({ attributes }) => attributes['hermes.hook.verdict'] !== 'pass')
}

/** Traces of a home with no more than what concerns hooks. */
export async function guardTree(home: string): Promise<string> {
  return buildForest(await spansOf(home))
    .map(tree => outline(tree, { attributes: SHOWN }))
    .join('\n\n')
}

/** A value of a span, over all spans of that name. */
export async function attributesOf(home: string, span: string, attribute: string): Promise<unknown[]> {
  return (await spansOf(home)).filter(({ name }) => name === span).map(({ attributes }) => attributes[attribute])
}

/** The scenes of an agent. */
export class GuardScenes {
  readonly #able: Capabilities
  readonly #covered = new Set<string>()

  constructor(able: Capabilities) {
    this.#able = able
  }

  scene<P extends Phase>(phase: P, decision: Decision, title: string, run: () => Promise<void>): void {
    this.#covered.add(`${phase} ${decision}`)
    test(`guards in ${phase} by ${decision}: ${title}`, run)
  }

  /** Behind all scenes. */
  end(): void {
    const claimed = Object.entries(this.#able).flatMap(([phase, decisions]) =>
      decisions.map(each => `${phase} ${each}`),
    )
    test("has a scene for each decision of the guards' table, and no other", () => {
      expect([...this.#covered].toSorted()).toEqual(claimed.toSorted())
    })
  }
}

/** Source of a hook: what it has, and the function of its phase. */
export function hook(phase: Phase, decides: Decision, body: string, more = ''): string {
  return `{ name: 'guard', priority: 10, onFailure: 'block', decisions: ['${decides}'], ${more} ${phase}: async (event, ctx) => { ${body} } }`
}

/** The guard of the first page of the documentation. */
export const NO_RM: string = `{
  name: 'no-rm',
  priority: 10,
  onFailure: 'block',
  beforeTool: ({ tool }) => (/\\brm\\b/.test(tool.command ?? '') ? block('Files are not deleted here.') : undefined),
}`

/** Source of a module: hooks of these sources, and what is done with them. */
export function guardModule(hooks: readonly string[], more: string): string {
  return `
import { ask, block, createHooks, inject, pass, retry, rewrite } from 'hookspan/hooks'
const hooks = createHooks([${hooks.join(',\n')}])
${more}
`
}

/** How a hook fails, and what is to come of it. */
export const FAILURES: readonly { readonly how: string; readonly body: string; readonly failure: string }[] = [
  { how: 'hangs', body: 'await new Promise(() => {})', failure: 'timed_out' },
  { how: 'throws', body: "throw new Error('of no concern to the model')", failure: 'threw' },
  { how: 'rejects', body: "await Promise.reject(new Error('of no concern to the model'))", failure: 'threw' },
  { how: 'returns nonsense', body: "return { decision: 'maybe' }", failure: 'nonsense' },
]

export function failing(body: string, onFailure: 'pass' | 'block'): string {
  const isAtOnce = body.startsWith('throw')
  return `{ name: 'broken', priority: 10, onFailure: '${onFailure}', timeLimitMillis: 300, beforeTool: ${isAtOnce ? '' : 'async '}() => { ${body} } }`
}
