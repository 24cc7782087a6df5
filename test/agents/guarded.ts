import type { GuardProtocol, HookReply } from '../../src/agents/guard-protocol.ts'
import { type AnyHook, createHooks, defineHook, HostHooks, type Phase } from '../../src/guards/index.ts'
import { PHASE_NAMES, PHASES } from '../../src/guards/phases.ts'
import type { AnyVerdict, Decision } from '../../src/guards/verdict.ts'

const ALL: readonly Decision[] = ['block', 'rewrite', 'inject', 'ask', 'retry']

/** A hook that says the same, whatever it is asked about. */
function saying(name: string, verdict: AnyVerdict): AnyHook {
  const phases = PHASE_NAMES.filter(phase => PHASES[phase].decisions.has(verdict.decision))
  const answers = Object.fromEntries(phases.map(phase => [phase, () => verdict]))
  return defineHook({ name, decisions: ALL, ...answers }) as AnyHook
}

/** What an agent is told, when these hooks are asked. */
export async function told(
  guarding: GuardProtocol,
  body: object,
  ...verdicts: readonly AnyVerdict[]
): Promise<HookReply> {
  const question = guarding.requestIn(body)
  if (question === undefined) return { error: 'nothing is asked' }
  const chain = createHooks(verdicts.map((verdict, at) => saying(`hook-${at + 1}`, verdict)))
  const hooks = new HostHooks({
    host: 'an-agent',
    hooks: chain,
    capabilities: guarding.capabilities,
    report: () => undefined,
  })
  const outcome = await hooks.run<Phase>(question.phase, question.ids, question.event)
  return guarding.reply(body, outcome)
}
