import fc from './fast-check.ts'

/**
 * What agents do, as data: the script says what happens, `script-run.ts` tells it in hook records, and says what must be
 * drawn. Every list may be empty and every choice has a plain first case, so that a failing script shrinks to the point.
 */

export interface AgentScript {
  readonly sessions: readonly SessionScript[]
}

export interface SessionScript {
  /** Hosts differ in when they fire `on_session_start`, and in whether it names the turn. */
  readonly starts: 'once' | 'every turn' | 'never'
  readonly startNamesTurn: boolean
  readonly turns: readonly TurnScript[]
  /** Some hosts have no ids for turns. Their turns are told one after the other, each to its end. */
  readonly namesTurns: boolean
  /** Some clocks are too coarse to move while a session lasts, and some hosts say no time. */
  readonly clock: 'ticks' | 'stands still' | 'none'
  /** How uneven its clock ticks. */
  readonly pace: number
}

export interface TurnScript {
  readonly requests: readonly RequestScript[]
  readonly auxiliary: 'none' | 'before the loop' | 'around the loop' | 'in the loop' | 'failed in the loop'
  /** `silent`: the host says nothing more of the turn. */
  readonly ending: 'completed' | 'failed' | 'interrupted' | 'silent'
  /** What a turn that did not complete was doing: nothing, its last request, the tools of its last request. */
  readonly cut: 'between' | 'in request' | 'in tools'
  /** The session id changes after the first request, as a compression of the context does it. */
  readonly rotates: boolean
  /** A request of an unknown turn, when this one is over: before the next prompt, or until after it. */
  readonly background: 'none' | 'between turns' | 'into the next'
}

export interface RequestScript {
  /** Failed attempts before the one that succeeds. */
  readonly failures: number
  /** What the host says of the attempt: its number, nothing, or always 0. */
  readonly retryCount: 'told' | 'absent' | 'always 0'
  /** Of which attempts the host tells the start; `only answers`: of the first, and of failures nothing at all. */
  readonly starts: 'each' | 'first' | 'only answers'
  /** An attempt of which no start is told is a span only when its end says how long it took. */
  readonly saysDuration: boolean
  readonly tokens: number
  readonly tools: readonly ToolScript[]
  /** All start before the first ends; they end in the order of their starts, or the other way round. */
  readonly parallel: 'no' | 'first in first out' | 'last in first out'
}

export interface ToolScript {
  readonly name: 'terminal' | 'read_file' | 'skill_view' | 'delegate_task'
  readonly hasId: boolean
  readonly outcome: 'ok' | 'error' | 'blocked'
  readonly approval: 'none' | 'once' | 'deny' | 'unanswered'
  /** An approval without a session id is found by its turn id. */
  readonly approvalNamesSession: boolean
  /** A control hook of the person's looks at the call. A host may tell of that before it tells of the call. */
  readonly guard: 'none' | 'passes' | 'blocks' | 'blocks early'
  /** Only of `delegate_task`. */
  readonly child: ChildScript | undefined
}

export interface ChildScript {
  /** A background child goes on after its tool call, and perhaps after its parent's turn. It has one turn. */
  readonly mode: 'waited for' | 'background'
  readonly session: SessionScript
}

export interface ScriptLimits {
  readonly sessions: number
  readonly turns: number
  readonly requests: number
  readonly tools: number
  /** Generations of child agents. */
  readonly depth: number
  /** Hosts without ids for turns, without a clock, without a start for each attempt. */
  readonly hasPoorHosts: boolean
  readonly hasGuards: boolean
}

export const SCRIPT_LIMITS: ScriptLimits = {
  sessions: 3,
  turns: 3,
  requests: 3,
  tools: 2,
  depth: 3,
  hasPoorHosts: true,
  hasGuards: true,
}

/** What only a poor host does: mostly it does not, so that what it does is seen beside what is usual. */
function seldom<Choice>({ hasPoorHosts }: ScriptLimits, usual: Choice, ...poor: Choice[]): fc.Arbitrary<Choice> {
  return hasPoorHosts ? fc.constantFrom(...Array<Choice>(2 * poor.length).fill(usual), ...poor) : fc.constant(usual)
}

function guard({ hasGuards }: ScriptLimits): fc.Arbitrary<ToolScript['guard']> {
  return hasGuards ? fc.constantFrom('none', 'none', 'passes', 'blocks', 'blocks early') : fc.constant('none')
}

function tool(depth: number, limits: ScriptLimits): fc.Arbitrary<ToolScript> {
  const plain = fc.record<ToolScript>({
    name: fc.constantFrom('terminal', 'read_file', 'skill_view'),
    hasId: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    outcome: fc.constantFrom('ok', 'ok', 'error', 'blocked'),
    approval: fc.constantFrom('none', 'none', 'once', 'deny', 'unanswered'),
    approvalNamesSession: fc.boolean(),
    guard: guard(limits),
    child: fc.constant(undefined),
  })
  if (depth === 0) return plain
  const smaller = { ...limits, turns: 2, requests: Math.min(2, depth), tools: 2 }
  const delegating = fc.record<ToolScript>({
    name: fc.constant('delegate_task'),
    hasId: fc.constant(true),
    outcome: fc.constant('ok'),
    approval: fc.constant('none'),
    approvalNamesSession: fc.constant(true),
    guard: fc.constant('none'),
    child: fc.record<ChildScript>({
      mode: fc.constantFrom('waited for', 'background'),
      session: session(depth - 1, smaller),
    }),
  })
  return fc.oneof({ weight: 4, arbitrary: plain }, { weight: 1, arbitrary: delegating })
}

function request(depth: number, limits: ScriptLimits): fc.Arbitrary<RequestScript> {
  return fc.record<RequestScript>({
    failures: fc.constantFrom(0, 0, 0, 1, 2),
    retryCount: fc.constantFrom('told', 'absent', 'always 0'),
    starts: seldom(limits, 'each', 'first', 'only answers'),
    saysDuration: fc.boolean(),
    tokens: fc.nat(5000),
    tools: fc.array(tool(depth, limits), { maxLength: limits.tools }),
    parallel: fc.constantFrom('no', 'first in first out', 'last in first out'),
  })
}

function turn(depth: number, limits: ScriptLimits): fc.Arbitrary<TurnScript> {
  return fc.record<TurnScript>({
    requests: fc.array(request(depth, limits), { maxLength: limits.requests }),
    auxiliary: fc.constantFrom(
      'none',
      'none',
      'before the loop',
      'around the loop',
      'in the loop',
      'failed in the loop',
    ),
    ending: fc.constantFrom('completed', 'completed', 'failed', 'interrupted', 'silent'),
    cut: fc.constantFrom('between', 'in request', 'in tools'),
    rotates: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    background: seldom(limits, 'none', 'between turns', 'into the next'),
  })
}

function session(depth: number, limits: ScriptLimits): fc.Arbitrary<SessionScript> {
  return fc.record<SessionScript>({
    starts: fc.constantFrom('once', 'every turn', 'never'),
    startNamesTurn: fc.boolean(),
    turns: fc.array(turn(depth, limits), { minLength: 1, maxLength: limits.turns }),
    namesTurns: seldom(limits, true, false),
    clock: seldom(limits, 'ticks', 'stands still', 'none'),
    pace: fc.integer({ min: 1, max: 300 }),
  })
}

export function agentScript(limits: ScriptLimits = SCRIPT_LIMITS): fc.Arbitrary<AgentScript> {
  return fc.record({
    sessions: fc.array(session(limits.depth, limits), { minLength: 1, maxLength: limits.sessions }),
  })
}
