/** The closed vocabularies of the contract. What a host may add lies open as `string` beside them. */
/** Choices that let the tool run. */
export const GRANTING_CHOICES = new Set(['once', 'session', 'always', 'smart_approve']);
/** Sub-agent statuses (lower case) that are errors; every other status, also an unknown one, is not. */
export const FAILED_SUBAGENT_STATUSES = new Set([
    'error',
    'errored',
    'failed',
    'failure',
    'cancelled',
    'canceled',
    'timeout',
    'timed_out',
]);
/** Tools (lower case) that start a child agent. */
export const DELEGATING_TOOLS = ['delegate_task', 'task', 'agent', 'subagent', 'dispatch_agent'];
