import { peek, textOf } from '../../contract/foreign.ts'
import { DelegatedTask } from '../base/delegation.ts'
import { tellDecided } from './approvals.ts'
import type { AgentTurn, ToolRun } from './state.ts'

/** Longer arguments are not parsed: no target or command is that long. Characters. */
const PARSE_LIMIT = 8 * 1024

/** Begins a turn, once the agent's name is known: the host reports it next. */
export function open(turn: AgentTurn): void {
  if (turn.isOpen || turn.isOver) return
  turn.isOpen = true
  const { parent, agentName } = turn
  if (parent !== undefined) {
    open(parent.turn)
    if (parent.tool !== undefined) tellTool(parent.tool)
    turn.task = new DelegatedTask(turn.records, turn.startAt, {
      parent_session_id: parent.turn.sessionId,
      parent_turn_id: parent.turn.turnId,
      child_session_id: turn.sessionId,
      child_role: agentName,
      tool_call_id: parent.tool?.id,
    })
    turn.task.emitStart(parent.tool === undefined ? turn.prompt : goalOf(parent.tool))
  }
  turn.emit('on_session_start', turn.startAt, { agent_name: agentName })
}

/** Begins the loop of requests and tools, once the prompt is known. */
export function openLoop(turn: AgentTurn): void {
  if (turn.isLoopOpen || turn.isOver) return
  turn.isLoopOpen = true
  open(turn)
  const { trace, startAt } = turn
  if (turn.parent === undefined) {
    // A run begun in another process continues its prompt.
    turn.prompt ??= trace.resumed?.prompt
    turn.model ??= trace.resumed?.model
    trace.resumed = undefined
  }
  const { prompt: user_message, history: conversation_history, model } = turn
  turn.emit('pre_llm_call', startAt, { user_message, conversation_history, model })
  if (turn.parent !== undefined || trace.decided.length === 0) return
  const { decided } = trace
  trace.decided = []
  for (const decision of decided) tellDecided(turn, decision, startAt)
}

export function tellTool(tool: ToolRun): void {
  if (tool.state !== 'asked') return
  tool.args = argsOf(tool.text)
  openLoop(tool.turn)
  tool.turn.toolHooks.startTool(tool)
}

/** Emits the control hooks of calls that do not run. */
export function flushToolHooks(turn: AgentTurn): void {
  if (turn.toolHooks.isEmpty) return
  openLoop(turn)
  turn.toolHooks.flush()
}

/** The task of an agent that runs as a tool: the SDK's schema for it has one field. */
function goalOf({ text }: ToolRun): unknown {
  return textOf(peek(argsOf(text), 'input')) ?? text
}

/** Parses JSON objects, whose fields show what a tool works on. */
function argsOf(text: string | undefined): unknown {
  if (text === undefined || text.length > PARSE_LIMIT || text[0] !== '{') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
