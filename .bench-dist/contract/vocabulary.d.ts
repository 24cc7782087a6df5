/** The closed vocabularies of the contract. What a host may add lies open as `string` beside them. */
export type SpanKindName = 'session' | 'llm' | 'api' | 'tool' | 'subagent' | 'approval' | 'skill' | 'auxiliary';
/** Why we had to end a span ourselves. */
export type IncompleteReason = 'turn_ended' | 'orphaned' | 'superseded' | 'shutdown' | 'crashed';
/** How a turn ended. The first four come from `on_session_end`, in order of strength; the rest are other ways out. */
export type FinalStatus = 'failed' | 'completed' | 'interrupted' | 'incomplete' | 'timed_out' | 'finalized' | 'reset' | 'crashed';
/** What became of one hook record. */
export type HookResult = 'ok' | 'ignored' | 'duplicate' | 'error';
/** Choices that let the tool run. */
export declare const GRANTING_CHOICES: ReadonlySet<string>;
/** Sub-agent statuses (lower case) that are errors; every other status, also an unknown one, is not. */
export declare const FAILED_SUBAGENT_STATUSES: ReadonlySet<string>;
/** Tools (lower case) that start a child agent. */
export declare const DELEGATING_TOOLS: readonly string[];
/** Where the metrics count a failed request: by the hundreds of its HTTP status. */
export type StatusClass = '1xx' | '2xx' | '3xx' | '4xx' | '5xx' | 'network' | 'other';
