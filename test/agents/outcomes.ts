import type { GuardProtocol } from '../../src/agents/guard-protocol.ts'
import type { Outcome, Phase } from '../../src/guards/index.ts'

const PASS: Outcome<Phase> = {
  decision: 'pass',
  by: undefined,
  reason: undefined,
  detail: undefined,
  delayMillis: undefined,
  value: '',
  isRewritten: false,
  injected: [],
  runs: [],
}

/** What hooks have come to, by what is said of it. */
export function outcome(said: Partial<Outcome<Phase>> = {}): Outcome<Phase> {
  return { ...PASS, ...said }
}

export const injected = (...texts: readonly string[]): Partial<Outcome<Phase>> => ({
  injected: texts.map(text => ({ text, role: 'user', by: 'a hook' })),
})

export const rewritten = (value: unknown): Partial<Outcome<Phase>> => ({ isRewritten: true, value: value as never })

/** Every event that a question is read from, with every decision that there is: none may say what would skip a person. */
export function everyReply(guarding: GuardProtocol, bodies: readonly unknown[]): string[] {
  const decisions = ['pass', 'block', 'ask', 'retry'] as const
  const more = [
    {},
    rewritten({ command: 'x' }),
    injected('a line'),
    { ...rewritten({ command: 'x' }), ...injected('y') },
  ]
  return bodies.flatMap(body =>
    decisions.flatMap(decision =>
      more.map(each => JSON.stringify(guarding.reply(body, outcome({ decision, reason: 'r', ...each })))),
    ),
  )
}
