// One column: a histogram, and the predictive density as a curve of rows to be expected.

class Histogram {
  /** @param {Cloud} cloud */
  constructor(cloud) {
    this.cloud = cloud;
    this.axis = cloud.axes[0];
    const { low, high, categories } = this.axis;
    const fine = Math.ceil(2 * Math.sqrt(this.values.length));
    this.nBins = categories ? categories.length : Math.min(60, Math.max(10, fine));
    this.size = (high - low) / this.nBins;
    const counts = this.counts(() => true);
    const seen = counts.reduce((sum, n) => sum + n, 0) || 1;
    this.perDensity = seen * this.size; // rows in a bin where the density is one
    const { density } = cloud;
    const densest = density ? density.grid.reduce((most, v) => Math.max(most, v), 0) : 0;
    this.highest = 1.08 * Math.max(...counts, densest * this.perDensity, 1e-9);
  }

  get values() {
    return this.cloud.places[0];
  }

  bin(value) {
    if (this.axis.categories) return Math.round(value);
    return Math.min(this.nBins - 1, Math.floor((value - this.axis.low) / this.size));
  }

  /** Counts of some rows in each bin. */
  counts(has) {
    const counts = new Float64Array(this.nBins);
    this.values.forEach((v, i) => {
      if (!Number.isNaN(v) && has(i)) counts[this.bin(v)]++;
    });
    return counts;
  }

  /** Draw some rows as bars. @returns {number} how many they are */
  drawBins(context, has, colour, alpha) {
    const { cloud } = this;
    const counts = this.counts(has);
    context.fillStyle = colour;
    context.globalAlpha = alpha;
    counts.forEach((n, k) => {
      const left = cloud.x(this.axis.low + k * this.size);
      const right = cloud.x(this.axis.low + (k + 1) * this.size);
      context.fillRect(left, cloud.y(n), right - left - 1, cloud.y(0) - cloud.y(n));
    });
    context.globalAlpha = 1;
    return counts.reduce((sum, n) => sum + n, 0);
  }

  drawCurve(context) {
    const { cloud } = this;
    if (!cloud.density) return;
    const { points, grid } = cloud.density;
    const step = (this.axis.high - this.axis.low) / points;
    context.strokeStyle = cloud.scheme.accent;
    context.lineWidth = 2;
    context.beginPath();
    grid.forEach((v, k) => {
      context.lineTo(cloud.x(this.axis.low + (k + 0.5) * step), cloud.y(v * this.perDensity));
    });
    context.stroke();
  }
}
