import type { Draw, SpanAttributes } from './span-definition.ts';
import type { TurnTotals } from './turn-totals.ts';
/** The turn summary of the root span. */
export declare function addSummary(attributes: SpanAttributes, totals: TurnTotals, draw: Draw): void;
/** Usage on the root too, for backends that cannot sum; off by default, because others then count it twice. */
export declare function rootUsageAttributes(totals: TurnTotals, draw: Draw): SpanAttributes;
