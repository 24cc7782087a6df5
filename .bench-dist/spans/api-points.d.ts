import type { ApiEnd, ApiError, ApiStart } from '../contract/index.ts';
import type { Draw, EndedSpan, Fired, MetricPoint } from './span-definition.ts';
export declare function apiPoints(fired: Fired<ApiEnd>, draw: Draw, ended: EndedSpan<ApiStart>): MetricPoint[];
export declare function apiErrorPoints(fired: Fired<ApiEnd & ApiError>, draw: Draw, ended: EndedSpan<ApiStart>): MetricPoint[];
