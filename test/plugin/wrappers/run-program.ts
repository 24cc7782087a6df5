import type { RunTurn, SubagentOptions, TurnHandle, TurnOperations } from '../../../src/index.ts'
import type { StoredSpan } from '../../../src/testing.ts'
import type { ApprovalStep, ParallelSteps, RequestStep, Step, SubagentStep, ToolStep, TurnProgram } from './programs.ts'

export interface Drawn {
  readonly name: string
  /** `OK`, `ERROR`, or `UNSET` of what had no end of its own. */
  status: string
  readonly children: Drawn[]
}

/** A promise as SDKs have them. */
class Answer extends Promise<unknown> {
  withResponse(): string {
    return 'the response'
  }
}

type Where = { readonly work: TurnOperations; readonly turn: Home; asking: Drawn; readonly tool?: Drawn }

/** What is known of a turn: where its requests go, and what stands below nothing else. */
interface Home {
  readonly llm: Drawn
}

/**
 * Does what a program says, and keeps what must be drawn. It knows of no record: only of what was called, in what, and how that
 * ended. Complains when a wrapper gives back, or throws, something else than its function.
 */
export class ProgramRun {
  readonly traces: Drawn[] = []
  records = 0
  #names = 0

  async run(turn: RunTurn, program: TurnProgram): Promise<void> {
    await this.#turn(program, this.traces, run => turn({}, run))
  }

  async #turn(
    program: TurnProgram,
    below: Drawn[],
    begin: (run: (turn: TurnHandle) => Promise<unknown>) => Promise<unknown>,
  ): Promise<string> {
    const llm = drawn('llm')
    const root = drawn('agent', [llm])
    below.push(root)
    const value = program.ending === 'text' ? 'an answer' : undefined
    const error = Object.assign(new Error('of the turn'), program.ending === 'aborts' && { name: 'AbortError' })
    const [given, thrown] = await outcomeOf(
      begin(async handle => {
        await this.#inTurn(handle, program, llm)
        if (program.ending === 'throws' || program.ending === 'aborts') throw error
        if (program.ending === 'says that it failed') handle.end({ failed: true })
        return value
      }),
    )
    const isAborted = thrown === error && program.ending === 'aborts'
    const hasFailed = (thrown !== undefined && !isAborted) || program.ending === 'says that it failed'
    if (thrown === undefined && given !== value) throw new Error('a turn gave back something else')
    if (thrown !== undefined && thrown !== error && !(thrown instanceof StepError)) throw thrown
    root.status = hasFailed ? 'ERROR' : 'OK'
    llm.status = hasFailed || isAborted ? 'UNSET' : 'OK'
    this.records += llm.status === 'OK' ? 4 : 3
    return root.status
  }

  /** Each turn asks its model first, so that it is known who has asked for its tools. */
  async #inTurn(work: TurnOperations, { steps }: TurnProgram, llm: Drawn): Promise<void> {
    const where: Where = { work, turn: { llm }, asking: llm }
    const first: RequestStep = { does: 'request', how: 'at once', fails: 'no', ticks: 0 }
    await this.#steps([first, ...steps], where)
  }

  async #steps(steps: readonly Step[], where: Where): Promise<void> {
    for (const step of steps) await this.#step(step, where, false)
  }

  async #step(step: Step, where: Where, isBeside: boolean): Promise<void> {
    const thrown = await this.#does(step, where)
    if (thrown === undefined) return
    if ('fails' in step && step.fails === 'caught') return
    if (!isBeside) throw thrown
  }

  /** What was thrown, if anything. */
  #does(step: Step, where: Where): Promise<unknown> {
    if (step.does === 'request') return this.#request(step, where)
    if (step.does === 'tool') return this.#tool(step, where)
    if (step.does === 'approval') return this.#approval(step, where)
    return step.does === 'subagent' ? this.#subagent(step, where) : this.#parallel(step, where)
  }

  async #parallel({ steps }: ParallelSteps, where: Where): Promise<undefined> {
    await Promise.all(steps.map(step => this.#step(step, where, true)))
  }

  #request(step: RequestStep, where: Where): Promise<unknown> {
    const span = this.#named('api', where.turn.llm.children)
    where.asking = span
    return this.#ended(step, span, given => where.work.request({ model: modelOf(span) }, given))
  }

  #tool(step: ToolStep, where: Where): Promise<unknown> {
    const span = this.#named('tool', where.asking.children)
    const name = modelOf(span)
    const call = step.hasId ? { tool_name: name, tool_call_id: `id ${name}` } : name
    const { asking, turn } = where
    if (step.steps.length === 0) return this.#ended(step, span, given => where.work.tool(call, step, given))
    return this.#ended(step, span, given =>
      where.work.tool(call, step, async (_, work) => {
        await this.#steps(step.steps, { work, turn, asking, tool: span })
        return given()
      }),
    )
  }

  #approval(step: ApprovalStep, where: Where): Promise<unknown> {
    const span = this.#named('approval', (where.tool ?? where.turn.llm).children)
    // Of one that fails nobody has decided; that is no error.
    return this.#ended(step, span, given => where.work.approval({ pattern_key: modelOf(span) }, given), 'OK')
  }

  async #subagent(step: SubagentStep, where: Where): Promise<unknown> {
    const span = this.#named('subagent', (where.tool ?? where.turn.llm).children)
    const options: SubagentOptions = { child_role: modelOf(span), child_goal: 'help' }
    this.records += 2
    span.status = await this.#turn(step.turn, span.children, async run => {
      const [given, thrown] = await outcomeOf(where.work.subagent(options, run))
      if (thrown !== undefined) throw thrown
      return given
    })
    return undefined
  }

  /** Runs a step whose function ends as the step says, and checks that its caller gets just that. */
  async #ended(
    { how, fails, ticks }: RequestStep | ToolStep | ApprovalStep,
    span: Drawn,
    begin: (given: () => unknown) => unknown,
    ofFailed = 'ERROR',
  ): Promise<unknown> {
    this.records += 2
    const value = { a: 'value' }
    const error = new StepError(span.name)
    const ends = (): object => {
      if (fails !== 'no') throw error
      return value
    }
    const [given, thrown] = await outcomeOf(() =>
      begin(() => (how === 'at once' ? ends() : soon(ticks, ends, how === 'by a promise' ? Promise : Answer))),
    )
    span.status = thrown === undefined ? 'OK' : ofFailed
    const isItsOwn = fails === 'no' ? given === value : thrown === error
    // What a step of a tool throws on, the tool throws.
    if (!isItsOwn && !(thrown instanceof StepError)) throw new Error(`${span.name} gave back something else`)
    return thrown
  }

  #named(kind: string, among: Drawn[]): Drawn {
    this.#names += 1
    const span = drawn(`${kind}.n${this.#names}`)
    among.push(span)
    return span
  }
}

class StepError extends Error {}

function drawn(name: string, children: Drawn[] = []): Drawn {
  return { name, status: 'UNSET', children }
}

function modelOf({ name }: Drawn): string {
  return name.slice(name.indexOf('.') + 1)
}

type PromiseKind = new (
  run: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void,
) => Promise<unknown>

function soon(ticks: number, ends: () => unknown, kind: PromiseKind): Promise<unknown> {
  return new kind((resolve, reject) => {
    const wait = (left: number): void => {
      if (left > 0) return void queueMicrotask(() => wait(left - 1))
      try {
        resolve(ends())
      } catch (error) {
        reject(error)
      }
    }
    wait(ticks)
  })
}

async function outcomeOf(running: Promise<unknown> | (() => unknown)): Promise<[unknown, unknown]> {
  try {
    return [await (typeof running === 'function' ? running() : running), undefined]
  } catch (error) {
    return [undefined, error]
  }
}

/** Traces as text, siblings in the order of their lines: which of two that run side by side comes first says nothing. */
export function textOf(traces: readonly Drawn[]): string {
  const lines = ({ name, status, children }: Drawn, indent: string): string =>
    [`${indent}${name} ${status}`, ...children.map(child => lines(child, `${indent}  `)).sort()].join('\n')
  return traces.map(trace => lines(trace, '')).join('\n')
}

export function drawnOf(spans: readonly StoredSpan[]): Drawn[] {
  const all = new Map(spans.map(span => [span.spanId, { ...drawn(span.name), status: span.status.toUpperCase() }]))
  const roots: Drawn[] = []
  for (const { spanId, parentSpanId } of spans) {
    const siblings = parentSpanId === undefined ? roots : all.get(parentSpanId)?.children
    siblings?.push(all.get(spanId) as Drawn)
  }
  return roots
}
