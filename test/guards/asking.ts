import type { Outcome } from '../../src/guards/chain.ts'
import type { About } from '../../src/guards/context.ts'
import { createHooks } from '../../src/guards/create-hooks.ts'
import type { AnyHook } from '../../src/guards/hook.ts'
import type { EventOf, Phase } from '../../src/guards/phases.ts'
import { toolCallOf } from '../../src/guards/tool-call.ts'

/** One event of each phase. */
export const EVENTS: { readonly [P in Phase]: EventOf<P> } = {
  beforeTurn: { prompt: 'Fix the bug.' },
  afterTurn: { answer: 'Done.', attempt: 0 },
  beforeModel: {
    model: 'qwen3',
    messages: [
      { role: 'system', text: 'Be brief.' },
      { role: 'user', text: 'Fix the bug.' },
    ],
  },
  afterModel: { model: 'qwen3', text: 'Let me see.', toolCalls: [], attempt: 0 },
  beforeTool: { tool: toolCallOf({ name: 'bash', arguments: { command: 'ls -l', cwd: '/srv/app' }, id: 'c1' }) },
  afterTool: {
    tool: toolCallOf({ name: 'bash', arguments: { command: 'ls -l' }, id: 'c1' }),
    result: { output: 'TODO' },
    isError: false,
    attempt: 0,
  },
}

/** A call of a tool, about to run. */
export function calling(
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  id?: string,
): EventOf<'beforeTool'> {
  return { tool: toolCallOf({ name, arguments: args, id }) }
}

/** What hooks are told beside the event; `lines` has what they said to the person. */
export function about(more: Partial<About> = {}): About & { readonly lines: readonly string[] } {
  const lines: string[] = []
  const say = (line: string): void => void lines.push(line)
  return {
    host: 'my-agent',
    sessionId: 's1',
    turnId: 't1',
    state: {},
    logger: { info: say, warn: say },
    ...more,
    lines,
  }
}

export interface Asked<P extends Phase> {
  readonly outcome: Outcome<P>
  readonly lines: readonly string[]
}

/** Asks hooks in one phase, and says what came of it, and what the person was told. */
export async function askIn<P extends Phase>(
  phase: P,
  hooks: readonly AnyHook[],
  { event = EVENTS[phase], ...more }: Partial<About> & { readonly event?: EventOf<P> } = {},
): Promise<Asked<P>> {
  const told = about(more)
  const outcome = await createHooks(hooks).run(phase, event, told)
  return { outcome, lines: told.lines }
}

/** An outcome in a word or two, as a table has it. */
export function inWords({ decision, by, reason }: Outcome<Phase>): string {
  return decision === 'pass' ? 'pass' : `${decision} by ${by}${reason === undefined ? '' : `: ${reason}`}`
}
