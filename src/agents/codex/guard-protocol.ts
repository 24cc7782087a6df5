import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Outcome, Phase } from '../../guards/index.ts'
import { addedContext, hookOf, injectedText, reasonOf, textFor } from '../base/guard-values.ts'
import { requestIn } from '../claude-code/guard-protocol.ts'
import { BLOCK_EXIT_CODE, type GuardProtocol, type HookReply } from '../guard-protocol.ts'

/** Tools for which hooks receive one string, and can return only that. */
const COMMANDS: ReadonlySet<unknown> = new Set(['Bash', 'apply_patch'])
const ENDS: ReadonlySet<unknown> = new Set(['Stop', 'SubagentStop', 'Interrupt'])

/** An unknown key makes Codex drop the whole response, even a block, and run the tool. */
const REPLIES: ReadonlyMap<string, (outcome: Outcome<Phase>, body: unknown) => object | undefined> = new Map([
  ['UserPromptSubmit', outcome => feedback(outcome) ?? addedContext('UserPromptSubmit', outcome)],
  ['PreToolUse', beforeTool],
  ['PostToolUse', afterTool],
  ['Stop', feedback],
  ['SubagentStop', feedback],
])

/** At the end of a turn, the agent goes on with this reason as its input. */
function feedback(outcome: Outcome<Phase>): object | undefined {
  return outcome.decision === 'pass' ? undefined : { decision: 'block', reason: reasonOf(outcome) }
}

/** A rewritten text is sent as a reason, which replaces the result. Codex ignores a blank one: the result would stay. */
function afterTool(outcome: Outcome<Phase>): object | undefined {
  const reply =
    feedback(outcome) ??
    (outcome.isRewritten ? { decision: 'block', reason: textOf(textFor(outcome.value)) ?? '(empty)' } : {})
  const body = { ...reply, ...(outcome.decision === 'pass' && addedContext('PostToolUse', outcome)) }
  return Object.keys(body).length === 0 ? undefined : body
}

function beforeTool(outcome: Outcome<Phase>, body: unknown): object | undefined {
  const hookEventName = 'PreToolUse'
  if (outcome.decision !== 'pass') {
    const denied = { permissionDecision: 'deny', permissionDecisionReason: reasonOf(outcome) }
    return { hookSpecificOutput: { hookEventName, ...denied } }
  }
  if (!outcome.isRewritten) return addedContext(hookEventName, outcome)
  const additionalContext = injectedText(outcome)
  const isCommand = COMMANDS.has(peek(body, 'tool_name'))
  const updatedInput = isCommand ? { command: peek(outcome.value, 'command') } : outcome.value
  const rewritten = { permissionDecision: 'allow', updatedInput }
  return { hookSpecificOutput: { hookEventName, ...rewritten, ...(additionalContext && { additionalContext }) } }
}

/** Codex has Claude Code's hooks, with ids and results of its own. It cannot ask the user: `ask` becomes `block`. */
export const codexGuardProtocol: GuardProtocol = {
  capabilities: {
    beforeTurn: ['block', 'inject'],
    beforeTool: ['block', 'rewrite', 'inject'],
    afterTool: ['block', 'rewrite', 'inject'],
    afterTurn: ['retry'],
  },
  requestIn: body => {
    // A child agent has its own turns in the trace, with its id as the session id.
    const sessionId = idOf(peek(body, 'agent_id')) ?? idOf(peek(body, 'session_id'))
    const ids = { sessionId, turnId: idOf(peek(body, 'turn_id')) }
    return requestIn(body, { ids, result: peek(body, 'tool_response'), needsName: false })
  },
  reply: (body, outcome) => ({ body: REPLIES.get(hookOf(body))?.(outcome, body) }),
  // The end of a turn cannot fail closed: blocking it makes the agent go on.
  failClosedReply: (body, reason): HookReply => {
    const phase = codexGuardProtocol.requestIn(body)?.phase
    return phase === undefined || phase === 'afterTurn' ? {} : { exitCode: BLOCK_EXIT_CODE, error: reason }
  },
  isEndOfTurn: body => ENDS.has(hookOf(body)),
}
