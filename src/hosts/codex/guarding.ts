import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { type Able, type HookIds, type Outcome, type Phase, type RawToolCall, toolCallOf } from '../../hooks/index.ts'
import { argumentsOf, injectedText, reasonOf } from '../base/guard-words.ts'
import type { Guarding, Question, Reply } from '../guarding.ts'

/** It has no way to ask a person: what a hook wants asked is blocked. */
const ABLE: Able = {
  beforeTurn: ['block', 'inject'],
  beforeTool: ['block', 'rewrite', 'inject'],
  afterTool: ['block', 'rewrite', 'inject'],
  afterTurn: ['retry'],
}

/** Tools of which hooks are shown one text, and can give back that alone. */
const COMMANDS: ReadonlySet<unknown> = new Set(['Bash', 'apply_patch'])
const ENDS: ReadonlySet<unknown> = new Set(['Stop', 'SubagentStop', 'Interrupt'])
/** What a command ends with whose standard error is a reason not to go on. */
const BLOCKS = 2
/** A blank reason is none, and what the tool has returned stays. */
const EMPTY = '(empty)'

const QUESTIONS: Readonly<Record<string, (ids: HookIds, body: unknown) => Question>> = {
  UserPromptSubmit: (ids, body) => {
    return { phase: 'beforeTurn', ids, event: { prompt: textOf(peek(body, 'prompt')) ?? '' } }
  },
  PreToolUse: (ids, body) => ({ phase: 'beforeTool', ids, event: { tool: toolCallOf(rawTool(body)) } }),
  PostToolUse: (ids, body) => {
    const tool = toolCallOf(rawTool(body))
    // Nothing here says whether it went well.
    return { phase: 'afterTool', ids, event: { tool, result: peek(body, 'tool_response'), isError: false, attempt: 0 } }
  },
  Stop: stopping,
  SubagentStop: stopping,
}

function stopping(ids: HookIds, body: unknown): Question {
  const answer = textOf(peek(body, 'last_assistant_message')) ?? ''
  return { phase: 'afterTurn', ids, event: { answer, attempt: peek(body, 'stop_hook_active') === true ? 1 : 0 } }
}

function rawTool(body: unknown): RawToolCall {
  return {
    name: textOf(peek(body, 'tool_name')) ?? '',
    arguments: argumentsOf(peek(body, 'tool_input')),
    id: idOf(peek(body, 'tool_use_id')),
    cwd: textOf(peek(body, 'cwd')),
  }
}

function eventOf(body: unknown): string {
  return textOf(peek(body, 'hook_event_name')) ?? ''
}

/** A child agent has turns of its own, and its id is what they are told under. */
function idsOf(body: unknown): HookIds {
  return {
    sessionId: idOf(peek(body, 'agent_id')) ?? idOf(peek(body, 'session_id')),
    turnId: idOf(peek(body, 'turn_id')),
    toolCallId: idOf(peek(body, 'tool_use_id')),
  }
}

/** With one key that is not in its schema, Codex drops all of an answer, a block too, and runs the tool. */
const REPLIES: Readonly<Record<string, (outcome: Outcome<Phase>, body: unknown) => object | undefined>> = {
  UserPromptSubmit: outcome => feedback(outcome) ?? beside('UserPromptSubmit', outcome),
  PreToolUse: beforeTool,
  PostToolUse: afterTool,
  Stop: feedback,
  SubagentStop: feedback,
}

/** Of the end of a turn this is what it goes on with. */
function feedback(outcome: Outcome<Phase>): object | undefined {
  return outcome.decision === 'pass' ? undefined : { decision: 'block', reason: reasonOf(outcome) }
}

/** A reason stands in the place of the result, with nothing around it: so a text can be another one. */
function afterTool(outcome: Outcome<Phase>): object | undefined {
  const said = feedback(outcome) ?? (outcome.isRewritten ? { decision: 'block', reason: textFor(outcome.value) } : {})
  const answer = { ...said, ...(outcome.decision === 'pass' && beside('PostToolUse', outcome)) }
  return Object.keys(answer).length === 0 ? undefined : answer
}

function textFor(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return textOf(text) ?? EMPTY
}

function beside(hookEventName: string, outcome: Outcome<Phase>): object | undefined {
  const additionalContext = injectedText(outcome)
  return additionalContext === undefined ? undefined : { hookSpecificOutput: { hookEventName, additionalContext } }
}

function beforeTool(outcome: Outcome<Phase>, body: unknown): object | undefined {
  const hookEventName = 'PreToolUse'
  if (outcome.decision !== 'pass') {
    const denied = { permissionDecision: 'deny', permissionDecisionReason: reasonOf(outcome) }
    return { hookSpecificOutput: { hookEventName, ...denied } }
  }
  if (!outcome.isRewritten) return beside(hookEventName, outcome)
  const additionalContext = injectedText(outcome)
  const rewritten = { permissionDecision: 'allow', updatedInput: inputOf(peek(body, 'tool_name'), outcome.value) }
  return { hookSpecificOutput: { hookEventName, ...rewritten, ...(additionalContext && { additionalContext }) } }
}

function inputOf(name: unknown, value: unknown): unknown {
  return COMMANDS.has(name) ? { command: peek(value, 'command') } : value
}

/** How hooks act in Codex. */
export const codexGuarding: Guarding = {
  able: ABLE,
  question: body => {
    const event = eventOf(body)
    return Object.hasOwn(QUESTIONS, event) ? QUESTIONS[event]?.(idsOf(body), body) : undefined
  },
  reply: (body, outcome) => {
    const event = eventOf(body)
    return Object.hasOwn(REPLIES, event) ? { body: REPLIES[event]?.(outcome, body) } : {}
  },
  // A turn whose end is held back goes on: that would close nothing.
  closed: (body, reason): Reply => {
    const phase = codexGuarding.question(body)?.phase
    return phase === undefined || phase === 'afterTurn' ? {} : { exitCode: BLOCKS, error: reason }
  },
  isEndOfTurn: body => ENDS.has(eventOf(body)),
}
