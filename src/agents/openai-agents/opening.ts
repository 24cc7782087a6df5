import { peek, textOf } from '../../contract/foreign.ts'
import { DelegatedTask } from '../base/delegation.ts'
import { emitDecision } from './approvals.ts'
import type { AgentTurn, ToolRun } from './state.ts'

/** Longer arguments are not parsed: no target or command is that long. Characters. */
const PARSE_LIMIT = 8 * 1024

/** Begins a turn, once the agent's name is known: the host reports it next. */
export function openTurn(turn: AgentTurn): void {
  if (turn.isOpen || turn.isOver) return
  turn.isOpen = true
  const { parent, agentName } = turn
  if (parent !== undefined) {
    openTurn(parent.turn)
    if (parent.tool !== undefined) emitToolStart(parent.tool)
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
  openTurn(turn)
  const { trace, startAt } = turn
  if (turn.parent === undefined) {
    // A run begun in another process continues its prompt.
    turn.prompt ??= trace.resumedRun?.prompt
    turn.model ??= trace.resumedRun?.model
    trace.resumedRun = undefined
  }
  const { prompt: user_message, history: conversation_history, model } = turn
  turn.emit('pre_llm_call', startAt, { user_message, conversation_history, model })
  if (turn.parent !== undefined || trace.decisions.length === 0) return
  const { decisions: decided } = trace
  trace.decisions = []
  for (const decision of decided) emitDecision(turn, decision, startAt)
}

export function emitToolStart(tool: ToolRun): void {
  if (tool.state !== 'asked') return
  tool.args = parseArguments(tool.text)
  openLoop(tool.turn)
  tool.turn.toolHooks.startTool(tool)
}

export function flushToolHooks(turn: AgentTurn): void {
  if (turn.toolHooks.isEmpty) return
  openLoop(turn)
  turn.toolHooks.flush()
}

/** The task of an agent that runs as a tool: the SDK's schema for it has one field. */
function goalOf({ text }: ToolRun): unknown {
  return textOf(peek(parseArguments(text), 'input')) ?? text
}

/** Parses JSON objects, whose fields show what a tool works on. */
function parseArguments(text: string | undefined): unknown {
  if (text === undefined || text.length > PARSE_LIMIT || text[0] !== '{') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
