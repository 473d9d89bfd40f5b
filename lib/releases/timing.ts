export { systemTiming, type Timing } from '../contract/timing.ts';
