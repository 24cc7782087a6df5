/** Joined strings are clipped to this, ellipsis included. */
const JOINED_LIMIT = 500;
/** A cut may leave half a character behind. */
const LONE_HIGH_SURROGATE = /[\uD800-\uDBFF]$/;
function joined(values, separator) {
    const text = [...values].join(separator);
    if (text === '')
        return undefined;
    // The parts are safe already, and cutting safe text keeps it safe.
    return (text.length <= JOINED_LIMIT ? text : `${text.slice(0, JOINED_LIMIT - 3).replace(LONE_HIGH_SURROGATE, '')}...`);
}
const sorted = (values) => [...values].sort();
/** Zero and empty set nothing. */
const some = (value) => value || undefined;
/** The turn summary of the root span. */
export function addSummary(attributes, totals, draw) {
    const { own } = draw.names;
    attributes[own.turnToolCount] = some(totals.tools.length);
    attributes[own.turnTools] = joined(sorted(totals.tools), ',');
    attributes[own.turnToolCallCount] = some(totals.toolCalls);
    attributes[own.turnToolErrorCount] = some(totals.toolErrors);
    attributes[own.turnToolTargets] = joined(totals.targets, '|');
    attributes[own.turnToolCommands] = joined(totals.commands, '|');
    attributes[own.turnToolOutcomes] = joined(sorted(totals.outcomes), ',');
    attributes[own.turnSkillCount] = some(totals.skills.length);
    attributes[own.turnSkills] = joined(sorted(totals.skills), ',');
    attributes[own.turnApiCallCount] = some(totals.apiCalls);
    attributes[own.turnApiErrorCount] = some(totals.apiErrors);
    attributes[own.turnRetryCount] = some(totals.retries);
    attributes[own.turnTokensInput] = some(totals.tokensInput);
    attributes[own.turnTokensOutput] = some(totals.tokensOutput);
    attributes[own.turnTokensTotal] = some(totals.tokensInput + totals.tokensOutput);
    attributes[own.turnTokensCacheRead] = some(totals.tokensCacheRead);
    attributes[own.turnTokensCacheWrite] = some(totals.tokensCacheWrite);
    attributes[own.turnTokensReasoning] = some(totals.tokensReasoning);
    attributes[own.turnSubagentCount] = some(totals.subagents);
    attributes[own.turnSubagentTokensTotal] = some(totals.subagentTokens);
    attributes[own.turnApprovalCount] = some(totals.approvals);
    attributes[own.turnApprovalWaitMs] = some(totals.approvalWaitMillis);
}
/** Usage on the root too, for backends that cannot sum; off by default, because others then count it twice. */
export function rootUsageAttributes(totals, draw) {
    if (totals.tokensInput + totals.tokensOutput === 0)
        return {};
    const { genAi, inference } = draw.names;
    return {
        [genAi.usageInputTokens]: totals.tokensInput,
        [genAi.usageOutputTokens]: totals.tokensOutput,
        [genAi.usageCacheRead]: some(totals.tokensCacheRead),
        [genAi.usageCacheCreation]: some(totals.tokensCacheWrite),
        [genAi.usageReasoning]: some(totals.tokensReasoning),
        [inference.tokensPrompt]: totals.tokensInput,
        [inference.tokensCompletion]: totals.tokensOutput,
        [inference.tokensTotal]: totals.tokensInput + totals.tokensOutput,
        [inference.tokensCacheRead]: some(totals.tokensCacheRead),
        [inference.tokensCacheWrite]: some(totals.tokensCacheWrite),
        [inference.tokensReasoning]: some(totals.tokensReasoning),
    };
}
