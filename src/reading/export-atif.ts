import { dropUndefined, isRecord, parseJson } from './attribute-value.ts'
import type { SpanAttributes } from './span-attributes.ts'
import type { TraceTree } from './trace-forest.ts'
import type { Trajectory, TrajectoryCall, TrajectoryRequest, TrajectoryTurn } from './trajectory.ts'
import { answerOf, systemPromptOf, trajectoriesOf } from './trajectory.ts'
import { isoInstant } from './tree-json.ts'

/**
 * Agent Trajectory Interchange Format of harbor, one document per session. Other readers expect 1.7, and 1.8 accepts it. Spans,
 * durations, errors and attempts have no field of their own and go into `extra`: unknown fields elsewhere are rejected.
 */
const VERSION = 'ATIF-v1.7'

type JsonFields = Record<string, unknown>

export function exportAtif(trees: readonly TraceTree[]): readonly object[] {
  return trajectoriesOf(trees).map(each => documentOf(each))
}

function documentOf(trajectory: Trajectory, trajectoryId?: string): JsonFields {
  const writer = new AtifWriter()
  const system = systemPromptOf(trajectory)
  if (system !== '') writer.addStep({ source: 'system', message: system })
  for (const turn of trajectory.turns) writer.addTurn(turn)
  const { agent, agentVersion, sessionId } = trajectory
  const [request] = trajectory.turns.flatMap(({ requests }) => requests)
  const model = request && modelOf(request.span)
  return dropUndefined({
    schema_version: VERSION,
    session_id: sessionId,
    trajectory_id: trajectoryId,
    agent: dropUndefined({ name: agent, version: agentVersion, model_name: model }),
    steps: writer.steps,
    final_metrics: writer.finalMetrics(),
    subagent_trajectories: writer.children.length === 0 ? undefined : writer.children,
  })
}

class AtifWriter {
  readonly steps: JsonFields[] = []
  readonly children: JsonFields[] = []
  readonly #sums = { prompt: 0, completion: 0, cached: 0, dollars: 0 }

  addStep(step: JsonFields): JsonFields {
    const numbered = dropUndefined({ step_id: this.steps.length + 1, ...step })
    this.steps.push(numbered)
    return numbered
  }

  /** Attempts without an answer make no step of their own: they are attached to the answer that followed. */
  addTurn(turn: TrajectoryTurn): void {
    const timestamp = isoInstant(turn.span.span.startAt)
    this.addStep({ source: 'user', message: turn.input, timestamp, extra: extraOf(turn.span) })
    let failed: JsonFields[] = []
    const answered = turn.requests.filter(request => !request.failed)
    for (const request of turn.requests) {
      if (request.failed) failed.push(extraOf(request.span))
      else {
        this.#addAnswer(request, request === answered.at(-1) ? turn.output : '', failed)
        failed = []
      }
    }
    const isUntold = answered.length === 0 && turn.output !== ''
    if (turn.calls.length > 0 || turn.children.length > 0 || failed.length > 0 || isUntold) {
      this.addStep({
        source: 'agent',
        message: isUntold ? turn.output : '',
        timestamp: isoInstant(turn.span.span.endAt),
        observation: this.#observation(turn.calls, true, turn.children),
        extra: failed.length === 0 ? undefined : { failed_attempts: failed },
      })
    }
  }

  #addAnswer(request: TrajectoryRequest, fallback: string, failed: readonly JsonFields[]): void {
    const { span, calls } = request
    const { text, reasoning } = answerOf(request.span)
    const model = modelOf(span)
    this.addStep({
      source: 'agent',
      message: text || (calls.length === 0 ? span.rawText('output.value') || fallback : ''),
      timestamp: isoInstant(span.span.endAt),
      model_name: model,
      reasoning_content: reasoning || undefined,
      tool_calls: calls.length === 0 ? undefined : calls.map(toolCall),
      observation: this.#observation(calls, false),
      metrics: this.#metrics(span),
      extra: { ...extraOf(span), ...(failed.length > 0 && { failed_attempts: failed }) },
    })
  }

  /** @param isAlone no request of this step asked for these calls, so that there is no source id */
  #observation(calls: readonly TrajectoryCall[], isAlone: boolean, others: readonly Trajectory[] = []) {
    const results: JsonFields[] = calls.map(call =>
      dropUndefined({
        source_call_id: isAlone ? undefined : call.id,
        content: call.result || undefined,
        subagent_trajectory_ref: this.#embed(call.children),
        extra: extraOf(call.span, isAlone ? { function_name: call.name } : {}),
      }),
    )
    const apart = this.#embed(others)
    if (apart !== undefined) results.push({ subagent_trajectory_ref: apart })
    return results.length === 0 ? undefined : { results }
  }

  #embed(children: readonly Trajectory[]): JsonFields[] | undefined {
    if (children.length === 0) return undefined
    return children.map(child => {
      const id = `${child.sessionId}#${this.children.length + 1}`
      this.children.push(documentOf(child, id))
      return { trajectory_id: id, session_id: child.sessionId }
    })
  }

  #metrics(span: SpanAttributes): JsonFields | undefined {
    const prompt = span.number('gen_ai.usage.input_tokens', 'llm.token_count.prompt')
    const completion = span.number('gen_ai.usage.output_tokens', 'llm.token_count.completion')
    const cached = span.number('gen_ai.usage.cache_read.input_tokens', 'llm.token_count.prompt_details.cache_read')
    const dollars = span.number('llm.cost.total')
    const counts = dropUndefined({ prompt, completion, cached, dollars })
    if (Object.keys(counts).length === 0) return undefined
    for (const name of ['prompt', 'completion', 'cached', 'dollars'] as const) this.#sums[name] += counts[name] ?? 0
    const extra = dropUndefined({
      cache_write_tokens: span.number('gen_ai.usage.cache_creation.input_tokens'),
      reasoning_tokens: span.number('gen_ai.usage.reasoning.output_tokens'),
    })
    return dropUndefined({
      prompt_tokens: prompt,
      completion_tokens: completion,
      cached_tokens: cached,
      cost_usd: dollars,
      extra: Object.keys(extra).length === 0 ? undefined : extra,
    })
  }

  finalMetrics(): JsonFields {
    const { prompt, completion, cached, dollars } = this.#sums
    return dropUndefined({
      total_prompt_tokens: prompt,
      total_completion_tokens: completion,
      total_cached_tokens: cached,
      total_cost_usd: dollars === 0 ? undefined : Number(dollars.toPrecision(12)),
      total_steps: this.steps.length,
    })
  }
}

function toolCall(call: TrajectoryCall): JsonFields {
  const given = parseJson(call.arguments)
  // Only an object is passed on. Cut or other arguments are kept as raw text.
  const args = isRecord(given) ? given : call.arguments === '' ? {} : { _raw: call.arguments }
  return { tool_call_id: call.id, function_name: call.name, arguments: args }
}

function modelOf(span: SpanAttributes): string | undefined {
  return span.rawText('gen_ai.response.model', 'gen_ai.request.model', 'llm.model_name') || undefined
}

function extraOf({ span }: SpanAttributes, more: JsonFields = {}): JsonFields {
  return dropUndefined({
    ...more,
    trace_id: span.traceId,
    span_id: span.spanId,
    start: isoInstant(span.startAt),
    end: isoInstant(span.endAt),
    status: span.status,
    error_type: typeof span.attributes['error.type'] === 'string' ? span.attributes['error.type'] : undefined,
  })
}
