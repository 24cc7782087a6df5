/** Instrument names; `{ns}` is the configured namespace. What each one is, is a row in `core/instrument-table.ts`. */
export declare const METRIC: {
    readonly sessions: '{ns}.sessions';
    readonly turnDuration: '{ns}.turn.duration';
    readonly toolCalls: '{ns}.tool.calls';
    readonly toolDuration: '{ns}.tool.duration';
    readonly tokensInput: '{ns}.tokens.input';
    readonly tokensOutput: '{ns}.tokens.output';
    readonly tokensCacheRead: '{ns}.tokens.cache_read';
    readonly tokensCacheWrite: '{ns}.tokens.cache_write';
    readonly tokensReasoning: '{ns}.tokens.reasoning';
    readonly apiDuration: '{ns}.api.duration';
    readonly apiErrorCount: '{ns}.api.error.count';
    readonly retryCount: '{ns}.retry.count';
    readonly subagentCount: '{ns}.subagent.count';
    readonly subagentDuration: '{ns}.subagent.duration';
    readonly approvalCount: '{ns}.approval.count';
    readonly approvalDuration: '{ns}.approval.duration';
    readonly skillInferred: '{ns}.skill.inferred';
    readonly genAiTokenUsage: 'gen_ai.client.token.usage';
    readonly genAiOperationDuration: 'gen_ai.client.operation.duration';
    readonly genAiTimeToFirstChunk: 'gen_ai.client.operation.time_to_first_chunk';
    readonly genAiExecuteToolDuration: 'gen_ai.execute_tool.duration';
    readonly genAiInvokeAgentDuration: 'gen_ai.invoke_agent.duration';
    readonly hooks: 'hookspan.hooks';
    readonly spansIncomplete: 'hookspan.spans.incomplete';
    readonly spansOpen: 'hookspan.spans.open';
    readonly turnsOpen: 'hookspan.turns.open';
    readonly exportSpans: 'hookspan.export.spans';
    readonly spoolBytes: 'hookspan.spool.bytes';
};
export type MetricKey = keyof typeof METRIC;
/** Label keys of our own instruments. The `gen_ai.*` instruments take theirs from the conventions. */
export declare const LABEL: {
    readonly kind: 'kind';
    readonly finalStatus: 'final_status';
    readonly toolName: 'tool_name';
    readonly outcome: 'outcome';
    readonly model: 'model';
    readonly provider: 'provider';
    readonly errorType: 'error_type';
    readonly statusClass: 'status_class';
    readonly retryable: 'retryable';
    readonly role: 'role';
    readonly status: 'status';
    readonly choice: 'choice';
    readonly patternKey: 'pattern_key';
    readonly skillName: 'skill_name';
    readonly source: 'source';
    readonly hook: 'hook';
    readonly result: 'result';
    readonly reason: 'reason';
    readonly backend: 'backend';
    readonly tokenType: 'gen_ai.token.type';
};
/** Labels whose values we make ourselves, from closed vocabularies: no limit may turn one of them into `other`. */
export declare const CLOSED_LABELS: ReadonlySet<string>;
