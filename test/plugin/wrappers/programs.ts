import fc from '../../support/fast-check.ts'

/** What an agent does with the wrappers, as data: `run-program.ts` does it, and says what must be drawn. */
export interface TurnProgram {
  readonly steps: readonly Step[]
  readonly ending: 'text' | 'nothing' | 'throws' | 'aborts' | 'says that it failed'
}

/** How a function gives its result, and whether it has one. What it throws is caught right behind it, or goes on. */
interface Ending {
  readonly how: 'at once' | 'by a promise' | 'by a promise with methods'
  readonly fails: 'no' | 'caught' | 'thrown on'
  /** Turns of the event loop before it ends. */
  readonly ticks: number
}

export interface RequestStep extends Ending {
  readonly does: 'request'
}

export interface ToolStep extends Ending {
  readonly does: 'tool'
  readonly hasId: boolean
  /** They are done with the methods of the tool. */
  readonly steps: readonly Step[]
}

export interface ApprovalStep extends Ending {
  readonly does: 'approval'
  readonly answer: boolean
}

export interface SubagentStep {
  readonly does: 'subagent'
  readonly turn: TurnProgram
}

/** All begin before the first ends. */
export interface ParallelSteps {
  readonly does: 'parallel'
  readonly steps: readonly Step[]
}

export type Step = RequestStep | ToolStep | ApprovalStep | SubagentStep | ParallelSteps

const ENDING = {
  how: fc.constantFrom('at once', 'by a promise', 'by a promise with methods'),
  fails: fc.constantFrom('no', 'no', 'no', 'caught', 'thrown on'),
  ticks: fc.nat(3),
} as const

/** What is asked of a person, or delegated, while a request is open elsewhere in the turn stands below that: not so here. */
type Requests = 'with requests' | 'without'

function request(): fc.Arbitrary<Step> {
  return fc.record<RequestStep>({ does: fc.constant('request'), ...ENDING })
}

function approval(): fc.Arbitrary<Step> {
  return fc.record<ApprovalStep>({ does: fc.constant('approval'), answer: fc.boolean(), ...ENDING })
}

function tool(depth: number, requests: Requests): fc.Arbitrary<Step> {
  return fc.record<ToolStep>({
    does: fc.constant('tool'),
    hasId: fc.boolean(),
    steps: depth === 0 ? fc.constant([]) : fc.array(step(depth - 1, requests), { maxLength: 3 }),
    ...ENDING,
  })
}

function subagent(depth: number): fc.Arbitrary<Step> {
  return fc.record<SubagentStep>({ does: fc.constant('subagent'), turn: turnProgram(depth - 1) })
}

function parallel(depth: number, requests: Requests): fc.Arbitrary<Step> {
  const tools = fc.array(tool(depth - 1, requests), { maxLength: 3 })
  const others = fc.array(fc.oneof(tool(depth - 1, 'without'), approval(), subagent(depth)), { maxLength: 3 })
  return fc.record<ParallelSteps>({ does: fc.constant('parallel'), steps: fc.oneof(tools, others) })
}

function step(depth: number, requests: Requests): fc.Arbitrary<Step> {
  const asked = requests === 'without' ? [] : [request()]
  if (depth === 0) return fc.oneof(tool(0, requests), approval(), ...asked)
  return fc.oneof(tool(depth, requests), approval(), subagent(depth), parallel(depth, requests), ...asked)
}

/** Programs with child agents and parallel steps, `depth` levels of them. */
export function turnProgram(depth: number): fc.Arbitrary<TurnProgram> {
  return fc.record<TurnProgram>({
    steps: fc.array(step(depth, 'with requests'), { maxLength: 4 }),
    ending: fc.constantFrom('text', 'text', 'nothing', 'throws', 'aborts', 'says that it failed'),
  })
}
