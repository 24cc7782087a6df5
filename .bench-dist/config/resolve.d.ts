import type { ConfigInput, Resolution } from './types.ts';
/**
 * Puts defaults, file, environment and options in code together, the later ones winning key by key (the maps: entry by
 * entry). Never throws, whatever it is given: what cannot be used is a problem, and the next lower source's value counts.
 *
 * @example resolveConfig({ code: { sample_rate: 0.1 }, hostName: 'pi' }).config.service_name // 'pi'
 */
export declare function resolveConfig(input?: ConfigInput): Resolution;
