import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { timestampOf } from '../base/event-machine.ts'
import type { TranscriptOwner, TranscriptResponse } from '../claude-code/events.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'

const PARTS_LIMIT = 1000
const MAIN = ''
/** Prefilter: most lines are of other types, and some are long. */
const RELEVANT = ['"subtype":"ui_telemetry"', '"type":"assistant"']

interface QwenAnswer {
  readonly agent: string
  readonly at: number
  readonly facts: Omit<TranscriptResponse, 'content'> & { readonly provider: unknown }
  readonly content: unknown[]
}

/**
 * Extracts requests from the transcripts of a session. The session's file has a line for each request, including those of child
 * agents. The content of an answer follows in later lines, for a child agent in the agent's own file.
 */
export class QwenTranscript {
  readonly #sessionId: string
  readonly #answers = new Map<string, QwenAnswer>()
  readonly #texts = new Map<string, string>()
  /** Answers found in an agent's own file minus those in the session's file, by agent. */
  readonly #missing = new Map<string, number>()
  readonly #calls = new Set<string>()
  #findings: HostEvent[] = []

  constructor(sessionId: string) {
    this.#sessionId = sessionId
  }

  /** Returns true if the answer that requested this tool has been read, including its line in the file with times and tokens. */
  hasAnswerOf(callId: string, agentId: string | undefined): boolean {
    return this.#calls.has(callId) && (agentId === undefined || (this.#missing.get(agentId) ?? 0) <= 0)
  }

  lastText(agentId: string | undefined): string | undefined {
    return this.#texts.get(agentId ?? MAIN)
  }

  /** Resets the last answer after an end: it applies to one end only. */
  resetText(agentId: string | undefined): void {
    this.#texts.delete(agentId ?? MAIN)
  }

  addLine(text: string): void {
    if (!RELEVANT.some(type => text.includes(type))) return
    const line = jsonIn(text)
    const at = timestampOf(line)
    if (at === undefined) return
    if (peek(line, 'type') === 'assistant') this.#addContent(line)
    else this.#handleTelemetry(line, peek(peek(line, 'systemPayload'), 'uiEvent'), at)
  }

  /** Returns the findings since the last call. Open answers are treated as complete. */
  drain(): readonly HostEvent[] {
    for (const agent of [...this.#answers.keys()]) this.#emitAnswer(agent)
    const found = this.#findings.sort((one, other) => (one.at ?? 0) - (other.at ?? 0))
    this.#findings = []
    return found
  }

  #handleTelemetry(line: unknown, event: unknown, at: number): void {
    const name = peek(event, 'event.name')
    const agent_id = idOf(peek(event, 'subagent_id'))
    const owner = { session_id: this.#sessionId, agent_id, prompt_id: idOf(peek(event, 'prompt_id')) }
    if (name === 'qwen-code.api_response') this.#handleResponse(event, owner, at)
    else if (name === 'qwen-code.api_error') this.#handleFailure(line, event, { owner, at })
  }

  #handleResponse(event: unknown, owner: TranscriptOwner, at: number): void {
    const agent = owner.agent_id ?? MAIN
    this.#emitAnswer(agent)
    this.#count(agent, -1)
    const text = textOf(peek(event, 'response_text'))
    if (text === undefined) this.#texts.delete(agent)
    else this.#texts.set(agent, text)
    const usage = {
      input: peek(event, 'input_token_count'),
      output: peek(event, 'output_token_count'),
      cached: peek(event, 'cached_content_token_count'),
      thoughts: peek(event, 'thoughts_token_count'),
    }
    const facts = {
      ...owner,
      message_id: idOf(peek(event, 'response_id')) ?? `${agent}:${at}`,
      model: peek(event, 'model'),
      provider: peek(event, 'auth_type'),
      usage,
      started_at: startOf(event, at),
      ended_at: at,
    }
    this.#answers.set(agent, { agent, at, facts, content: [] })
  }

  #addContent(line: unknown): void {
    const agent = idOf(peek(line, 'agentId')) ?? MAIN
    const answer = this.#answers.get(agent)
    // Only one of the lines of an answer has token counts.
    if (peek(line, 'usageMetadata') !== undefined) this.#count(agent, 1)
    for (const part of elementsOf(peek(peek(line, 'message'), 'parts'), PARTS_LIMIT)) {
      const call = peek(part, 'functionCall')
      const text = peek(part, 'thought') === true ? undefined : textOf(peek(part, 'text'))
      const id = idOf(peek(call, 'id'))
      if (id !== undefined) this.#calls.add(id)
      if (id !== undefined) {
        answer?.content.push({ type: 'tool_use', id, name: peek(call, 'name'), input: peek(call, 'args') })
      } else if (text !== undefined) answer?.content.push({ type: 'text', text })
    }
  }

  #count(agent: string, more: number): void {
    this.#missing.set(agent, (this.#missing.get(agent) ?? 0) + more)
  }

  #handleFailure(
    line: unknown,
    event: unknown,
    { owner, at }: { readonly owner: TranscriptOwner; readonly at: number },
  ): void {
    const found = {
      ...owner,
      line_id: idOf(peek(line, 'uuid')) ?? `${at}`,
      started_at: startOf(event, at),
      at,
      model: peek(event, 'model'),
      provider: peek(event, 'auth_type'),
      status: peek(event, 'status_code'),
      error: peek(event, 'error_type'),
      message: peek(event, 'error_message'),
    }
    this.#findings.push({ event: 'transcript:failure', at, data: found })
  }

  #emitAnswer(agent: string): void {
    const answer = this.#answers.get(agent)
    if (answer === undefined) return
    this.#answers.delete(agent)
    this.#findings.push({
      event: 'transcript:response',
      at: answer.at,
      data: { ...answer.facts, content: answer.content },
    })
  }
}

function startOf(event: unknown, at: number): number {
  return at - Math.max(0, numberOf(peek(event, 'duration_ms')) ?? 0)
}
